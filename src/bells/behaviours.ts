import type { Clock } from "../base/clock.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import clearDevicesSchedules from "../resources/bells/clear-devices-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import scheduledNotifications from "../resources/bells/scheduled-notifications.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Behaviour } from "../store/store.ts";
import { bellScheduleBehaviour } from "./bell-schedule-behaviour.ts";
import { bulkExceptionBehaviour } from "./bulk-exceptions.ts";
import { dayChangeBehaviour } from "./day-change-behaviour.ts";
import { ringListBehaviour } from "./ring-list-behaviour.ts";
import { clearDevicesScheduleBehaviour, scheduledNotificationBehaviour } from "./scheduled-behaviours.ts";
import type { BellTimes } from "./timetables.ts";

/** A behaviour and the resource it is bound to. */
type Bound = readonly [resource: AnyResource, behaviour: Behaviour];

/** What the resources of the bells do beyond being stored. */
export function bellBehaviours(needs: { clock: Clock; times: BellTimes }): readonly Bound[] {
  return [
    bind(ringLists, ringListBehaviour(needs.clock)),
    bind(bellSchedules, bellScheduleBehaviour),
    bind(bulkExceptions, bulkExceptionBehaviour(needs)),
    bind(dayChanges, dayChangeBehaviour(needs)),
    bind(scheduledNotifications, scheduledNotificationBehaviour(needs)),
    bind(clearDevicesSchedules, clearDevicesScheduleBehaviour(needs)),
  ];
}

/** Forgets the row type, which the table can't keep. */
function bind<R extends AnyResource>(resource: R, behaviour: Behaviour<R>): Bound {
  return [resource, behaviour as unknown as Behaviour];
}
