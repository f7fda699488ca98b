import type { Clock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type clearDevicesSchedules from "../resources/bells/clear-devices-schedules.ts";
import type scheduledNotifications from "../resources/bells/scheduled-notifications.ts";
import type { ResourceHooks } from "../store/store.ts";
import { formatOffsetMinutes } from "../time-zones/offset-zone.ts";
import { DEFAULT_CLOCK_RULES } from "../time-zones/time-zones.ts";
import { parseQuartzCron } from "./quartz-cron.ts";
import { nextRecurrence, parseRecurrence } from "./recurrence.ts";
import type { LocalTimeContext } from "./timetables.ts";

export interface NextFireTimeDeps {
  clock: Clock;
  times: LocalTimeContext;
}

/** @source docs/decisions/0042-api-contract.md */
const MAX_CRON_LENGTH = 256;

/** Validates the recurrence rule of a scheduled notification and computes its next times. @source docs/decisions/0010-scheduled-notifications.md */
export function scheduledNotificationHooks(deps: NextFireTimeDeps): ResourceHooks<typeof scheduledNotifications> {
  return {
    beforeWrite({ after }) {
      if (!after) return;
      after.schedule = after.schedule.trim();
      const rule = parseRecurrence(after.schedule, { zones: deps.times.zones, timeZone: after.timeZone });
      if (typeof rule === "string") throw invalidValue("schedule", rule);
      if (!/^(DTSTART|RRULE)/i.test(after.schedule) && after.schedule.length > MAX_CRON_LENGTH)
        throw invalidValue(
          "schedule",
          sentence("field.a-cron-expression-must-have-at-most-limit-characters", { limit: MAX_CRON_LENGTH }),
        );
    },
    present: (rows, { query }) =>
      rows.map(({ schedule, timeZone, disabled }) => ({
        ...computeNextFireTimes(disabled ? null : schedule, timeZone, query.includeNextFireTimes === true, deps),
      })),
  };
}

/** Display-clear schedules use a cron expression in the zone of the appliance. @source docs/decisions/0010-scheduled-notifications.md */
export function clearDevicesScheduleHooks(deps: NextFireTimeDeps): ResourceHooks<typeof clearDevicesSchedules> {
  return {
    beforeWrite({ after }) {
      if (!after) return;
      after.cronExpression = after.cronExpression.trim();
      const cron = parseQuartzCron(after.cronExpression);
      if (typeof cron === "string") throw invalidValue("cronExpression", cron);
    },
    present(rows, { query }) {
      const zone = deps.times.ownZone();
      return rows.map(({ cronExpression }) => ({
        ...computeNextFireTimes(cronExpression, zone, query.includeNextFireTimes === true, deps),
      }));
    },
  };
}

/** @source docs/decisions/0200-bell-engine-limits.md, Limits */
const MAX_FIRE_TIMES = 5;

/** The next time of a rule (null: no rule), and with `several` the times after it. */
function computeNextFireTimes(
  rule: string | null,
  timeZone: string,
  several: boolean,
  { clock, times }: NextFireTimeDeps,
) {
  const repetition = rule === null ? "" : parseRecurrence(rule, { zones: times.zones, timeZone });
  const found: string[] = [];
  const local: string[] = [];
  if (typeof repetition !== "string") {
    const zone = times.zones.of(timeZone);
    let at: number | null = clock.now();
    while (found.length < (several ? MAX_FIRE_TIMES : 1)) {
      at = nextRecurrence(repetition, zone, times.rules ?? DEFAULT_CLOCK_RULES, at);
      if (at === null) break;
      found.push(new Date(at).toISOString());
      const offsetMs = zone.offsetAt(at);
      const offset = formatOffsetMinutes(offsetMs / 60_000, "short");
      local.push(`${new Date(at + offsetMs).toISOString().slice(0, 19)}${offset}`);
    }
  }
  return {
    nextFireTime: found[0] ?? null,
    nextLocalTime: local[0] ?? null,
    ...(several ? { nextFireTimes: found, nextLocalTimes: local } : {}),
  };
}
