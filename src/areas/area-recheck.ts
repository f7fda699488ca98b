import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import type { Store, Transaction } from "../store/store.ts";
import { type AreaCircle, containmentOf, loadAreaCircles } from "./area-geometry.ts";

/** Devices per transaction: some ms. */
const CHUNK_SIZE = 500;

interface LastPosition {
  device: number;
  user: number;
  type: string;
  longitude: number;
  latitude: number;
  accuracyM: number;
  inside: number;
}

/**
 * Compares changed areas with the last known positions, in time slices; resumes work of an earlier run. No trigger fires, since
 * no device crossed a moved edge; a device without a known position keeps its state until its next report.
 * @source docs/decisions/0202-areas-of-interest.md
 */
export async function recheckAreas(
  { store, clock }: { store: Store; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const next = store.one<{ area: string; after: number }>("SELECT area, after FROM area_rechecks LIMIT 1");
    if (!next || signal.aborted) return;
    await store.write((tx) => {
      const [circle] = loadAreaCircles(tx, next.area);
      const last = circle ? recheckChunk(tx, circle, next.after) : deletePresence(tx, next.area);
      // The area was changed again during the chunk: the recheck starts over.
      const where = [next.area, next.after] as const;
      if (last === null) tx.run("DELETE FROM area_rechecks WHERE area = ? AND after = ?", ...where);
      else tx.run("UPDATE area_rechecks SET after = ? WHERE area = ? AND after = ?", last, ...where);
    });
    await yieldToEventLoop(clock);
  }
}

/** The last device compared; null if there are no more. */
function recheckChunk(tx: Transaction, circle: AreaCircle, after: number): number | null {
  const known = tx.all<LastPosition>(
    `SELECT p.device, d.user_pk AS user, d.type, p.longitude, p.latitude, p.accuracy_m AS accuracyM,
       EXISTS (SELECT 1 FROM area_presence i WHERE i.area = ? AND i.user = d.user_pk AND i.device = p.device) AS inside
     FROM area_positions p JOIN user_devices d ON d.pk = p.device
     WHERE p.device > ? AND p.latitude IS NOT NULL ORDER BY p.device LIMIT ?`,
    ...[circle.id, after, CHUNK_SIZE],
  );
  for (const position of known) {
    const { device, user, inside } = position;
    const place = containmentOf(circle, position, position.type);
    if (place === "inside" && inside === 0) {
      tx.run("INSERT INTO area_presence (area, user, device) VALUES (?, ?, ?)", circle.id, user, device);
    } else if (place === "outside" && inside === 1) {
      tx.run("DELETE FROM area_presence WHERE area = ? AND user = ? AND device = ?", circle.id, user, device);
    }
  }
  return known.length < CHUNK_SIZE ? null : (known.at(-1)?.device ?? null);
}

function deletePresence(tx: Transaction, area: string): number | null {
  const { changes } = tx.run(
    `DELETE FROM area_presence WHERE (area, user, device) IN
       (SELECT area, user, device FROM area_presence WHERE area = ? LIMIT ${CHUNK_SIZE})`,
    area,
  );
  return changes < CHUNK_SIZE ? null : 0;
}
