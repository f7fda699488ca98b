import { derivedId } from "../lib/ids.ts";
import userDevices from "../resources/people/user-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Transaction } from "../store/store.ts";

/** A user device, as far as crossings use it. */
export type TrackedDevice = Pick<RowOf<typeof userDevices>, "pk" | "id" | "userId" | "type">;

/** Areas that a device entered and left, by id. */
export interface BoundaryCrossings {
  entered: readonly string[];
  exited: readonly string[];
}

/** Times of a report, epoch ms. */
export interface PositionReportTimes {
  /** By the clock of the device, never ahead of the server's. */
  at: number;
  received: number;
}

/** Internal key of the owner of a device. */
function ownerKeyOf(tx: Transaction, { pk }: Pick<TrackedDevice, "pk">): number {
  return tx.one<{ user: number }>("SELECT user_pk AS user FROM user_devices WHERE pk = ?", pk)?.user ?? 0;
}

/**
 * Updates who is inside and queues the actions of triggers, which run after COMMIT, also after a crash. The change is
 * published as a change of the device, whose row stores its areas as of the last crossing.
 */
export function recordCrossings(
  tx: Transaction,
  walker: TrackedDevice,
  crossings: BoundaryCrossings,
  report: PositionReportTimes,
  by: ActorContext,
): void {
  const { entered, exited } = crossings;
  if (entered.length === 0 && exited.length === 0) return;
  const user = ownerKeyOf(tx, walker);
  for (const area of entered) {
    tx.run("INSERT OR IGNORE INTO area_presence (area, user, device) VALUES (?, ?, ?)", area, user, walker.pk);
  }
  for (const area of exited) {
    tx.run("DELETE FROM area_presence WHERE area = ? AND user = ? AND device = ?", area, user, walker.pk);
  }
  const fired = [
    ...entered.flatMap((area) => queueTriggerActions(tx, walker, user, { area, reason: "entered" }, report)),
    ...exited.flatMap((area) => queueTriggerActions(tx, walker, user, { area, reason: "exited" }, report)),
  ];
  const inside = tx.all<{ area: string }>("SELECT area FROM area_presence WHERE device = ? ORDER BY area", walker.pk);
  const presence = { areaOfInterestIds: inside.map(({ area }) => area), updatedAt: report.received };
  tx.update(userDevices, walker.id, {}, by, { presence });
  if (fired.length > 0) tx.emit("boundary.crossed", { deviceId: walker.id });
}

/**
 * Triggers of the area that match this crossing and user and are not throttled; a trigger without lists and users matches
 * everyone. The throttle uses the times of the device, so that reports that arrive late and together are judged by when they
 * happened. @source docs/decisions/0005-users-and-devices.md, Boundary triggers
 */
const SELECT_MATCHING_TRIGGERS = `SELECT t.pk, t.id FROM boundary_triggers t
  WHERE t.area_of_interest_pk = (SELECT pk FROM areas_of_interest WHERE id = ?) AND t.action IN (?, 'both')
    AND ((t.lost_references = 0 AND NOT EXISTS (SELECT 1 FROM boundary_triggers__user_ids u WHERE u.owner = t.pk)
          AND NOT EXISTS (SELECT 1 FROM boundary_triggers__distribution_list_ids l WHERE l.owner = t.pk))
      OR EXISTS (SELECT 1 FROM boundary_triggers__user_ids u WHERE u.owner = t.pk AND u.target = ?)
      OR EXISTS (SELECT 1 FROM boundary_triggers__distribution_list_ids l
           JOIN subscriptions s ON s.distribution_list_pk = l.target AND s.user_pk = ?
           WHERE l.owner = t.pk AND (s.subscription_end_date IS NULL OR s.subscription_end_date > ?))
      OR EXISTS (SELECT 1 FROM boundary_triggers__distribution_list_ids l
           JOIN distribution_list_scim_groups d ON d.distribution_list_pk = l.target
           JOIN scim_group_members m ON m.scim_group_pk = d.scim_group_pk AND m.user_pk = ?
           WHERE l.owner = t.pk))
    AND NOT EXISTS (SELECT 1 FROM area_throttles x WHERE x.trigger = t.pk AND x.user = ?
      AND t.per_user_throttling_in_secs > 0 AND x.at > ? - t.per_user_throttling_in_secs * 1000)
  ORDER BY t.pk`;

function queueTriggerActions(
  tx: Transaction,
  walker: TrackedDevice,
  user: number,
  { area, reason }: { area: string; reason: "entered" | "exited" },
  { at, received }: PositionReportTimes,
): string[] {
  const triggers = tx.all<{ pk: number; id: string }>(
    SELECT_MATCHING_TRIGGERS,
    ...[area, reason, user, user, received, user, user, at],
  );
  for (const { pk, id } of triggers) {
    tx.run("INSERT OR REPLACE INTO area_throttles (trigger, user, at) VALUES (?, ?, ?)", pk, user, at);
    // One idempotency key per crossing, wherever it is handled.
    const key = derivedId("boundary-trigger", id, walker.id, reason, String(at), String(received));
    tx.run(
      `INSERT OR IGNORE INTO area_pending_actions (id, trigger, user, device, reason, received) VALUES (?, ?, ?, ?, ?, ?)`,
      ...[key, id, walker.userId, walker.id, reason, received],
    );
  }
  return triggers.map(({ id }) => id);
}
