import type { Clock } from "../lib/clock.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import calendarSubscriptions from "../resources/bells/calendar-subscriptions.ts";
import clearDevicesSchedules from "../resources/bells/clear-devices-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import scheduledNotifications from "../resources/bells/scheduled-notifications.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { ResourceHooks } from "../store/store.ts";
import { bellScheduleHooks } from "./bell-schedule-hooks.ts";
import { bulkExceptionHooks } from "./bulk-exception-hooks.ts";
import { calendarSubscriptionHooks } from "./calendar-subscription-hooks.ts";
import { dayChangeHooks } from "./day-change-hooks.ts";
import { clearDevicesScheduleHooks, scheduledNotificationHooks } from "./recurring-schedule-hooks.ts";
import { ringListHooks } from "./ring-list-hooks.ts";
import type { LocalTimeContext } from "./timetables.ts";

/** Hooks and the resource they are bound to. */
type BoundHooks = readonly [resource: AnyResource, hooks: ResourceHooks];

/** Hooks of the bell resources. */
export function bellHooks(deps: { clock: Clock; times: LocalTimeContext; policy: SsrfGuard }): readonly BoundHooks[] {
  return [
    bindHooks(ringLists, ringListHooks(deps.clock)),
    bindHooks(bellSchedules, bellScheduleHooks),
    bindHooks(calendarSubscriptions, calendarSubscriptionHooks(deps.policy)),
    bindHooks(bulkExceptions, bulkExceptionHooks(deps)),
    bindHooks(dayChanges, dayChangeHooks(deps)),
    bindHooks(scheduledNotifications, scheduledNotificationHooks(deps)),
    bindHooks(clearDevicesSchedules, clearDevicesScheduleHooks(deps)),
  ];
}

/** Erases the row type, which the table cannot express. */
function bindHooks<R extends AnyResource>(resource: R, hooks: ResourceHooks<R>): BoundHooks {
  return [resource, hooks as unknown as ResourceHooks];
}
