import { validate } from "node-cron";

/**
 * A cron expression of five or six fields (`30 2 * * *`) in the usual form; null when it is none. One with a question mark
 * is read as that of others' schedulers (`0 30 2 ? * 2`): it begins with seconds, and its weekdays count from Sunday = 1.
 * @source decisions.md 10; Quartz CronTrigger
 */
export function normalizeCron(expression: string): string | null {
  const fields = expression.trim().split(/\s+/);
  if (!fields.includes("?")) return validate(expression) ? expression : null;
  const [seconds, minutes, hours, day, month, weekday = "", ...more] = fields;
  if (more.length > 0 || /(^|\D)(0|[89]|\d\d+)/.test(weekday.replace(/\/\d+/g, ""))) return null;
  const counted = weekday.replace(
    /(^|[-,])(\d)/g,
    (_all, before: string, number: string) => before + (Number(number) - 1),
  );
  const usual = [seconds, minutes, hours, day === "?" ? "*" : day, month, counted === "?" ? "*" : counted].join(" ");
  return validate(usual) ? usual : null;
}

/** True for what `cronOf` takes. */
export function isCronExpression(expression: string): boolean {
  return normalizeCron(expression) !== null;
}
