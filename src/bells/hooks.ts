import type { Clock } from "../lib/clock.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import clearDevicesSchedules from "../resources/bells/clear-devices-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import scheduledNotifications from "../resources/bells/scheduled-notifications.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { ResourceHooks } from "../store/store.ts";
import { bellScheduleHooks } from "./bell-schedule-hooks.ts";
import { bulkExceptionHooks } from "./bulk-exception-hooks.ts";
import { dayChangeHooks } from "./day-change-hooks.ts";
import { clearDevicesScheduleHooks, scheduledNotificationHooks } from "./recurring-schedule-hooks.ts";
import { ringListHooks } from "./ring-list-hooks.ts";
import type { LocalTimeContext } from "./timetables.ts";

/** Hooks and the resource they are bound to. */
type BoundHooks = readonly [resource: AnyResource, behaviour: ResourceHooks];

/** Hooks of the bell resources. */
export function bellHooks(needs: { clock: Clock; times: LocalTimeContext }): readonly BoundHooks[] {
  return [
    bindHooks(ringLists, ringListHooks(needs.clock)),
    bindHooks(bellSchedules, bellScheduleHooks),
    bindHooks(bulkExceptions, bulkExceptionHooks(needs)),
    bindHooks(dayChanges, dayChangeHooks(needs)),
    bindHooks(scheduledNotifications, scheduledNotificationHooks(needs)),
    bindHooks(clearDevicesSchedules, clearDevicesScheduleHooks(needs)),
  ];
}

/** Erases the row type, which the table cannot express. */
function bindHooks<R extends AnyResource>(resource: R, behaviour: ResourceHooks<R>): BoundHooks {
  return [resource, behaviour as unknown as ResourceHooks];
}
