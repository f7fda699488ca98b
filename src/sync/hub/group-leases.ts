import type { Lease } from "../protocol/frames.ts";
import { getRecord, putRecord, type TransactionProgram } from "../storage/transaction-program.ts";
import { readFeedHead } from "./publish.ts";
import { GROUP_LEASES, LINK_RECORDS } from "./tables.ts";

/** @source replication.md 9 */
const LEASE_TTL_MS = 15_000;
/** The cloud gives a lease to another only after its holder, whose clock may be slower, thinks it is over. @source own choice */
const LEASE_MARGIN_MS = 1_000;

/**
 * Renews the leases of groups for the appliance that asks, or gives it those that nobody holds. Each change of the
 * holder, and each new beginning, has a higher term, by which what an older holder still does can be refused. Not a
 * permission to sound. A connection whose place another one took gets null: what it renews, nobody would hear of. With
 * them, where the feed stands.
 */
export function* renewLeases(
  { endpoint, sess }: { endpoint: string; sess: number },
  groups: readonly string[],
  now: number,
): TransactionProgram<{ head: number; leases: Lease[] } | null> {
  if ((yield* getRecord(LINK_RECORDS, endpoint))?.sess !== sess) return null;
  const leases: Lease[] = [];
  const { since, seq } = yield* readFeedHead();
  for (const group of groups) {
    const found = yield* getRecord(GROUP_LEASES, group);
    if (found && found.holder !== endpoint && found.until > now) {
      leases.push({ group, holder: found.holder, term: found.term, ttlMs: 0 });
      continue;
    }
    const isKept = found?.holder === endpoint && found.until > now;
    // What was granted before a restore, also to another than the copy's holder, is not known any more and must have ended.
    if (!isKept && now < since + LEASE_TTL_MS + LEASE_MARGIN_MS) continue;
    // Terms of before a restore are older seconds.
    const term = isKept ? found.term : Math.max((found?.term ?? 0) + 1, Math.floor(now / 1000));
    yield* putRecord(GROUP_LEASES, { group, holder: endpoint, term, until: now + LEASE_TTL_MS + LEASE_MARGIN_MS });
    leases.push({ group, holder: endpoint, term, ttlMs: LEASE_TTL_MS });
  }
  return { head: seq, leases };
}
