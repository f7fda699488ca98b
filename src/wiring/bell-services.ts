import { createBellPlanner, createBells } from "../bells/bells.ts";
import { createCalendarSubscriptions } from "../bells/calendar-subscriptions.ts";
import { createRingPlans } from "../bells/offline-ring-plans.ts";
import { canRingOffline } from "../bells/offline-rings.ts";
import { areMissedRingsResolved } from "../bells/ring-repository.ts";
import { createScheduleLint } from "../bells/schedule-lint.ts";
import { createZoneChanges } from "../bells/zone-changes.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import { missedBellReasons } from "../ops/health/missed-bells.ts";
import { zoneDataReasons } from "../time-zones/zone-data.ts";
import type { FailoverCoordinator } from "./failover-coordinator.ts";
import type { Foundation } from "./foundation.ts";
import type { DaemonModule } from "./lifecycle.ts";

/** Bells, the calendars and time zones that they follow, and the plans of devices that ring without the appliance. */
export function createBellServices(
  { data, clock, events, log, endpointId, ssrfGuard, bellTimes: times, zoneData, calendarReader, isHub }: Foundation,
  { notificationService, failover }: { notificationService: NotificationService; failover: FailoverCoordinator },
) {
  const { store, access } = data;
  const by = access.systemContext("bells");
  const planner = createBellPlanner({ store, clock, times });
  const ringPlans = createRingPlans({ store, clock, log, times, notificationService, by });
  const zoneChanges = createZoneChanges({ store, clock, log, endpointId, planner, by, times, data: zoneData });
  zoneData.onChange(ringPlans.invalidate);
  const lint = createScheduleLint({ reader: store, clock, events, log, times });
  const calendars = createCalendarSubscriptions({
    ...{ store, clock, events, log, ssrfGuard, times, by, reader: calendarReader },
  });
  const bells = createBells({
    ...{ store, clock, log, times, planner, notificationService, by, endpointId },
    ...{ duty: failover.dutyOf, isAssignmentOutdated: failover.isAssignmentStale, failoverDuty: failover.backupDutyOf },
  });
  const modules: readonly DaemonModule[] = [
    { name: "time zone data", start: zoneData.start },
    { name: "time zone changes", start: zoneChanges.start, stop: zoneChanges.stop },
    // Each appliance rings the bells of the devices that it has. @source docs/decisions/0025-one-active-side.md
    { name: "bells", start: isHub ? undefined : bells.start, stop: bells.stop },
    { name: "subscribed calendars", start: calendars.start, stop: calendars.stop },
    { name: "schedule check", start: lint.start, stop: lint.stop },
  ];
  const missedBells = missedBellReasons(store, clock, endpointId, {
    exist: () => canRingOffline(store, clock.now()),
    compensated: (ranges) => areMissedRingsResolved(store, ranges),
  });
  return {
    ...{ planner, ringPlans, calendars, modules },
    healthSources: [
      ...[lint.healthReasons, missedBells, () => ringPlans.healthSource(), zoneChanges.healthReasons],
      ...[() => zoneDataReasons(zoneData, clock.now()), calendars.healthReasons],
    ],
  };
}
