import { Cron } from "croner";
import type { Clock, Timer } from "../lib/clock.ts";
import { normalizeCron } from "../settings/cron.ts";
import { DEFAULT_CLOCK_RULES, type TimeZone, type TimeZones } from "./time-zones.ts";

/** Calls `work` at the times of a cron expression; the returned function stops it. Throws for an invalid expression. */
export type CronScheduler = (expression: string, work: () => void) => () => void;

export interface CronSchedulerDeps {
  clock: Clock;
  zones: TimeZones;
  /** Time zone of the appliance. */
  ownZone(): string;
}

/** The clock, the zone and its rules may change at any time. */
const CHECK_INTERVAL_MS = 30_000;
/** A run that is later than this was missed while the machine was off or suspended, and is skipped. */
const LATE_LIMIT_MS = 60_000;

/** Runs work at local times of the appliance; runs missed during downtime are skipped, times in a DST gap run at its end. */
export function createCronScheduler({ clock, zones, ownZone }: CronSchedulerDeps): CronScheduler {
  return (expression, work) => {
    // As with node-cron, which validates the settings, a day must match day of month and day of week.
    const cron = new Cron(normalizeCron(expression) ?? expression, { timezone: "UTC", paused: true, domAndDow: true });
    let checkedAt = clock.now();
    let zone = zones.of(ownZone());
    let next = nextInstant(cron, zone, checkedAt);
    let timer: Timer;
    const wait = (): void => {
      const delayMs = next === null ? CHECK_INTERVAL_MS : Math.max(0, next - clock.now());
      timer = clock.after(Math.min(delayMs, CHECK_INTERVAL_MS), check, { background: true });
    };
    const check = (): void => {
      const now = clock.now();
      const current = zones.of(ownZone());
      if (current !== zone || now < checkedAt) next = nextInstant(cron, current, Math.min(checkedAt, now));
      [zone, checkedAt] = [current, now];
      const isDue = next !== null && next <= now && now - next <= LATE_LIMIT_MS;
      if (next !== null && next <= now) next = nextInstant(cron, zone, now);
      wait();
      if (isDue) work();
    };
    wait();
    return () => timer.cancel();
  };
}

/** The first instant after `after`; null if there is none. */
function nextInstant(cron: Cron, zone: TimeZone, after: number): number | null {
  let local = cron.nextRun(new Date(after + zone.offsetAt(after) - 1_000));
  while (local) {
    const at = zone.instantOf(local.getTime(), DEFAULT_CLOCK_RULES);
    if (at !== null && at > after) return at;
    local = cron.nextRun(local);
  }
  return null;
}
