import { validate } from "node-cron";

/**
 * Normalizes a cron expression of five or six fields (`30 2 * * *`); null if it is invalid. An expression with a
 * question mark is Quartz syntax (`0 30 2 ? * 2`): it begins with seconds, and weekdays count from Sunday = 1.
 * @source docs/decisions/0010-scheduled-notifications.md; Quartz CronTrigger
 */
export function normalizeCron(expression: string): string | null {
  const fields = expression.trim().split(/\s+/);
  if (!fields.includes("?")) return validate(expression) ? expression : null;
  const [seconds, minutes, hours, day, month, weekday = "", ...more] = fields;
  if (more.length > 0 || /(^|\D)(0|[89]|\d\d+)/.test(weekday.replace(/\/\d+/g, ""))) return null;
  const zeroBased = weekday.replace(
    /(^|[-,])(\d)/g,
    (_all, before: string, number: string) => before + (Number(number) - 1),
  );
  const standard = [seconds, minutes, hours, day === "?" ? "*" : day, month, zeroBased === "?" ? "*" : zeroBased].join(
    " ",
  );
  return validate(standard) ? standard : null;
}

/** True for a valid cron expression. */
export function isCronExpression(expression: string): boolean {
  return normalizeCron(expression) !== null;
}
