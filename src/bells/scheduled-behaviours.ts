import type { Clock } from "../base/clock.ts";
import { invalidValue } from "../base/errors.ts";
import type clearDevicesSchedules from "../resources/bells/clear-devices-schedules.ts";
import type scheduledNotifications from "../resources/bells/scheduled-notifications.ts";
import type { Behaviour } from "../store/store.ts";
import { readQuartz } from "./quartz.ts";
import { nextInstant, readRepetition } from "./repetition.ts";
import type { BellTimes } from "./timetables.ts";
import { DEFAULT_CLOCK_RULES } from "./zones.ts";

/** What telling the next time needs. */
export interface NextTimeNeeds {
  clock: Clock;
  times: BellTimes;
}

/** @source digest `/v1/scheduled-notifications` */
const MOST_CRON = 256;

/** A scheduled message has a rule that can be read, and tells when it comes next. @source decisions.md 10 */
export function scheduledNotificationBehaviour(needs: NextTimeNeeds): Behaviour<typeof scheduledNotifications> {
  return {
    beforeWrite({ after }) {
      if (!after) return;
      after.schedule = after.schedule.trim();
      const rule = readRepetition(after.schedule);
      if (typeof rule === "string") throw invalidValue("schedule", rule);
      if (!/^(DTSTART|RRULE)/i.test(after.schedule) && after.schedule.length > MOST_CRON)
        throw invalidValue("schedule", `A cron expression has at most ${MOST_CRON} characters.`);
    },
    present: (rows, { query }) =>
      rows.map(({ schedule, timeZone, disabled }) => ({
        ...nextTimes(disabled ? null : schedule, timeZone, query.includeNextFireTimes === true, needs),
      })),
  };
}

/** Devices are cleared by a cron expression in the appliance's zone. @source decisions.md 10 */
export function clearDevicesScheduleBehaviour(needs: NextTimeNeeds): Behaviour<typeof clearDevicesSchedules> {
  return {
    beforeWrite({ after }) {
      if (!after) return;
      after.cronExpression = after.cronExpression.trim();
      const cron = readQuartz(after.cronExpression);
      if (typeof cron === "string") throw invalidValue("cronExpression", cron);
    },
    present(rows, { query }) {
      const zone = needs.times.ownZone();
      return rows.map(({ cronExpression }) => ({
        ...nextTimes(cronExpression, zone, query.includeNextFireTimes === true, needs),
      }));
    },
  };
}

/** own choice */
const MOST_TIMES = 5;

/** When a rule (null: none) comes next, and with `several` the times after that. */
function nextTimes(rule: string | null, timeZone: string, several: boolean, { clock, times }: NextTimeNeeds) {
  const repetition = rule === null ? "" : readRepetition(rule);
  const found: string[] = [];
  if (typeof repetition !== "string") {
    const zone = times.zones.of(timeZone);
    let at: number | null = clock.now();
    while (found.length < (several ? MOST_TIMES : 1)) {
      at = nextInstant(repetition, zone, times.rules ?? DEFAULT_CLOCK_RULES, at);
      if (at === null) break;
      found.push(new Date(at).toISOString());
    }
  }
  return { nextFireTime: found[0] ?? null, ...(several ? { nextFireTimes: found } : {}) };
}
