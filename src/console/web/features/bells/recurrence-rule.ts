/** A rule as people say it: at a time, on some days of the week. */
export interface WeeklyRule {
  /** `HH:mm:ss`. */
  time: string;
  /** Days of the week, 0 for Monday, in order; all seven for every day. */
  days: readonly number[];
}

/** Quartz' names, Monday first. */
const DAY_NAMES: readonly string[] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];

/** The rule as a Quartz cron expression. */
export function cronOf({ time, days }: WeeklyRule): string {
  const [hour = 0, minute = 0, second = 0] = time.split(":").map(Number);
  const names = days.length === DAY_NAMES.length ? "*" : days.map((day) => DAY_NAMES[day]).join();
  return `${second} ${minute} ${hour} ? * ${names}`;
}

/** A Quartz cron expression as a weekly rule; null if it is more than a time and weekdays. */
export function weeklyRuleOf(cron: string): WeeklyRule | null {
  const [second = "", minute = "", hour = "", days, months, week = "", ...rest] = cron
    .trim()
    .toUpperCase()
    .split(/\s+/);
  const isNumber = (text: string): boolean => /^\d{1,2}$/.test(text);
  if (![second, minute, hour].every(isNumber) || !/^[?*]$/.test(days ?? "") || months !== "*" || rest.length > 0)
    return null;
  const found = week === "*" || week === "?" ? DAY_NAMES.map((_, at) => at) : daysIn(week);
  const two = (text: string): string => text.padStart(2, "0");
  return found && { time: [hour, minute, second].map(two).join(":"), days: found };
}

function daysIn(week: string): number[] | null {
  const found = week.split(",").flatMap((part) => {
    const [first, last, ...more] = part.split("-").map((name) => DAY_NAMES.indexOf(name));
    if (first === undefined || first < 0 || more.length > 0) return [-1];
    if (last === undefined) return [first];
    return last < first ? [-1] : Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
  return found.includes(-1) ? null : [...new Set(found)].sort((one, other) => one - other);
}
