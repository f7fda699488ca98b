import { scan, type Work } from "../work.ts";
import { linkState } from "./link-state.ts";
import { PARKED } from "./tables.ts";

/** Connected for so long without being equal is a trouble. @source replication.md 7 */
const BEHIND_MS = 600_000;
/** So long a difference of digests is a trouble. @source own choice */
const DIFFERED_MS = 3600_000;

/** What keeps this appliance from being equal to the cloud, in words; null when nothing does. `behindMs` is for how long it is behind. */
export function* findTrouble(now: number, behindMs: number): Work<string | null> {
  const [parked] = yield* scan(PARKED, { limit: 1 });
  if (parked) return `${parked.type} ${parked.id} of the cloud can't be written here: ${parked.reason}`;
  if (behindMs > BEHIND_MS) return "Connected for ten minutes, and still not equal to the cloud.";
  const { mismatchAt } = yield* linkState();
  const differs = mismatchAt !== null && now - mismatchAt < DIFFERED_MS;
  return differs ? "Rows differed from the cloud's and were fetched anew." : null;
}
