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

const COUNTED = {
  sent: "sent_at",
  accepted: "accepted_at",
  playing: "playing_at",
  missed: "CASE WHEN level IN ('failed', 'expired') THEN ended_at END",
  passedOver: "CASE WHEN level = 'skipped' THEN ended_at END",
} as const;

/** Progress from the send (or the last retry) until the end, or until `now`. */
export function progressOverTime(row: NotificationRow, reader: StoreReader, now: number): ProgressPoint[] {
  const start = row.retriedAt ?? row.createdAt;
  const span = Math.max(MIN_STEP_MS, (row.settledAt ?? now) - start);
  const stepMs = Math.max(MIN_STEP_MS, Math.ceil(span / MAX_POINTS));
  const steps = Math.ceil(span / stepMs);
  const grown = growth(reader, row.pk, { start, stepMs, steps });
  const sums = { sent: 0, accepted: 0, playing: 0, missed: 0, passedOver: 0 };
  return Array.from({ length: steps + 1 }, (_, step) => {
    for (const { name, n } of grown.get(step) ?? []) sums[name] += n;
    return { at: start + step * stepMs, ...sums };
  });
}

type ProgressCounter = keyof typeof COUNTED;

/** Increments per step; earlier ones count for the first. */
function growth(
  reader: StoreReader,
  notificationPk: number,
  { start, stepMs, steps }: { start: number; stepMs: number; steps: number },
): Map<number, { name: ProgressCounter; n: number }[]> {
  const columns = Object.entries(COUNTED).map(
    ([name, moment]) =>
      `SELECT '${name}' AS name, max(0, min(?, CAST((${moment} - ? + ? - 1) / ? AS INTEGER))) AS step, count(*) AS n FROM deliveries
       WHERE notification_pk = ? AND ${moment} IS NOT NULL GROUP BY 2`,
  );
  const lines = reader.all<{ name: ProgressCounter; step: number; n: number }>(
    columns.join(" UNION ALL "),
    ...columns.flatMap(() => [steps, start, stepMs, stepMs, notificationPk]),
  );
  const grown = new Map<number, { name: ProgressCounter; n: number }[]>();
  for (const { name, step, n } of lines) grown.set(step, [...(grown.get(step) ?? []), { name, n }]);
  return grown;
}
