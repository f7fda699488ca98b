import { derivedId } from "../lib/ids.ts";
import userDevices from "../resources/people/user-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Transaction } from "../store/store.ts";

/** A device of somebody, as far as crossings concern it. */
export type TrackedDevice = Pick<RowOf<typeof userDevices>, "pk" | "id" | "userId" | "type">;

/** Edges that a device crossed, by the ids of the areas. */
export interface BoundaryCrossings {
  entered: readonly string[];
  exited: readonly string[];
}

/** What a device reported, beside where it is. Times are epoch ms. */
export interface PositionReportTimes {
  /** By the device's own clock, never ahead of ours. */
  at: number;
  received: number;
}

/** Internal key of a device's owner. */
function ownerKeyOf(tx: Transaction, { pk }: Pick<TrackedDevice, "pk">): number {
  return tx.one<{ user: number }>("SELECT user_pk AS user FROM user_devices WHERE pk = ?", pk)?.user ?? 0;
}

/**
 * Writes who is inside now, and which triggers fire by it: their actions are taken after COMMIT, also after a crash. The
 * change is told as one of the device, whose row keeps where it was at its last crossing.
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
 * Triggers of the area that mean this crossing and this user and are not throttled. @source decisions.md 5: without
 * lists and users everybody fires it. own choice: the time between two firings is counted as the devices tell it, so that
 * reports that come late and together are judged as they happened.
 */
const SELECT_MATCHING_TRIGGERS = `SELECT t.pk, t.id FROM boundary_triggers t
  WHERE t.area_of_interest_pk = (SELECT pk FROM areas_of_interest WHERE id = ?) AND t.action IN (?, 'both')
    AND ((NOT EXISTS (SELECT 1 FROM boundary_triggers__user_ids u WHERE u.owner = t.pk)
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
    // One key for one crossing, wherever it is acted on.
    const key = derivedId("boundary-trigger", id, walker.id, reason, String(at), String(received));
    tx.run(
      `INSERT OR IGNORE INTO area_pending_actions (id, trigger, user, device, reason, received) VALUES (?, ?, ?, ?, ?, ?)`,
      ...[key, id, walker.userId, walker.id, reason, received],
    );
  }
  return triggers.map(({ id }) => id);
}
