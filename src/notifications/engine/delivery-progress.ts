import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import type { StoreReader } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";

/** Progress of a message at one time: number of devices that had reached each level. */
export interface ProgressPoint {
  /** Epoch ms. */
  at: number;
  sent: number;
  accepted: number;
  playing: number;
  /** Failed or expired. */
  missed: number;
  /** Skipped on purpose; not an error. */
  passedOver: number;
}

/** Maximum number of points. */
const MAX_POINTS = 60;
const MIN_STEP_MS = 100;
/** Deliveries counted per turn of the event loop: about 3 ms. */
const CHUNK_SIZE = 4_000;

const COUNTED = {
  sent: "sent_at",
  accepted: "accepted_at",
  playing: "playing_at",
  missed: "CASE WHEN level IN ('failed', 'expired') THEN ended_at END",
  passedOver: "CASE WHEN level = 'skipped' THEN ended_at END",
} as const;

/** Progress from the send (or the last retry) until the end, or until now. */
export async function progressOverTime(
  row: NotificationRow,
  reader: StoreReader,
  clock: Clock,
): Promise<ProgressPoint[]> {
  const now = clock.now();
  const start = row.retriedAt ?? row.createdAt;
  const span = Math.max(MIN_STEP_MS, (row.settledAt ?? now) - start);
  const stepMs = Math.max(MIN_STEP_MS, Math.ceil(span / MAX_POINTS));
  const steps = Math.ceil(span / stepMs);
  const grown = new Map<number, Growth[]>();
  for (let above = 0; ; await yieldToEventLoop(clock)) {
    const end = reader.one<{ pk: number }>(
      "SELECT pk FROM deliveries WHERE notification_pk = ? AND pk > ? ORDER BY pk LIMIT 1 OFFSET ?",
      ...[row.pk, above, CHUNK_SIZE - 1],
    );
    const keys = { above, upTo: end?.pk ?? Number.MAX_SAFE_INTEGER };
    for (const each of growth(reader, row.pk, keys, { start, stepMs, steps })) {
      grown.set(each.step, [...(grown.get(each.step) ?? []), each]);
    }
    if (!end) break;
    above = end.pk;
  }
  const sums = { sent: 0, accepted: 0, playing: 0, missed: 0, passedOver: 0 };
  return Array.from({ length: steps + 1 }, (_, step) => {
    for (const { name, n } of grown.get(step) ?? []) sums[name] += n;
    return { at: start + step * stepMs, ...sums };
  });
}

type ProgressCounter = keyof typeof COUNTED;

/** Deliveries that reached a level in one step. */
interface Growth {
  name: ProgressCounter;
  step: number;
  n: number;
}

/** Increments per step of the deliveries with these keys; what came before the first step counts for it. */
function growth(
  reader: StoreReader,
  notificationPk: number,
  { above, upTo }: { above: number; upTo: number },
  { start, stepMs, steps }: { start: number; stepMs: number; steps: number },
): Growth[] {
  const columns = Object.entries(COUNTED).map(
    ([name, moment]) =>
      `SELECT '${name}' AS name, max(0, min(?, CAST((${moment} - ? + ? - 1) / ? AS INTEGER))) AS step, count(*) AS n FROM deliveries
       WHERE notification_pk = ? AND pk > ? AND pk <= ? AND ${moment} IS NOT NULL GROUP BY 2`,
  );
  return reader.all<Growth>(
    columns.join(" UNION ALL "),
    ...columns.flatMap(() => [steps, start, stepMs, stepMs, notificationPk, above, upTo]),
  );
}
