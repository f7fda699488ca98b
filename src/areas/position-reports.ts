import { recordPosition } from "../notifications/responses/tracking.ts";
import type userDevices from "../resources/people/user-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Transaction } from "../store/store.ts";
import { type AreaCircle, containmentOf, type DevicePosition } from "./area-geometry.ts";
import { type BoundaryCrossings, recordCrossings, type TrackedDevice } from "./boundary-crossings.ts";

/** Position report of a device. */
export interface PositionReport extends DevicePosition {
  /** Epoch ms by the clock of the device; null for now. */
  at: number | null;
}

/**
 * Applies a report and returns the device. A report older than the last one changes nothing; a time in the future counts as
 * now. A device whose first report is inside an area has entered it. @source docs/decisions/0202-areas-of-interest.md
 */
export function applyPositionReport(
  tx: Transaction,
  device: RowOf<typeof userDevices>,
  report: PositionReport,
  { now, by, circles }: { now: number; by: ActorContext; circles: readonly AreaCircle[] },
): RowOf<typeof userDevices> {
  const at = Math.min(report.at ?? now, now);
  const last = tx.one<{ at: number }>("SELECT at FROM area_positions WHERE device = ?", device.pk);
  if (last && at < last.at) return device;
  tx.run(
    `INSERT INTO area_positions (device, at, received, accuracy_m, longitude, latitude) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (device) DO UPDATE SET at = excluded.at, received = excluded.received,
       accuracy_m = excluded.accuracy_m, longitude = excluded.longitude, latitude = excluded.latitude`,
    ...[device.pk, at, now, report.accuracyM, report.longitude, report.latitude],
  );
  recordPosition(tx, device, { ...report, at }, now);
  const crossings = detectCrossings(circles, areasContainingDevice(tx, device), report, device);
  recordCrossings(tx, device, crossings, { at, received: now }, by);
  return device;
}

/** Edges between the previous and the new position; on an edge the state does not change. */
export function detectCrossings(
  circles: readonly AreaCircle[],
  inside: ReadonlySet<string>,
  position: DevicePosition,
  { type }: Pick<TrackedDevice, "type">,
): BoundaryCrossings {
  const entered: string[] = [];
  const exited: string[] = [];
  for (const circle of circles) {
    const place = containmentOf(circle, position, type);
    if (place === "inside" && !inside.has(circle.id)) entered.push(circle.id);
    if (place === "outside" && inside.has(circle.id)) exited.push(circle.id);
  }
  return { entered, exited };
}

export function areasContainingDevice(tx: Transaction, { pk }: Pick<TrackedDevice, "pk">): Set<string> {
  const rows = tx.all<{ area: string }>("SELECT area FROM area_presence WHERE device = ?", pk);
  return new Set(rows.map(({ area }) => area));
}
