import { schedule, validate } from "node-cron";
import type { Schedule } from "./load-definitions.ts";

/** Calls work at the times of a cron expression, in the local time of the appliance; times missed while it was off are gone. */
export const cronSchedule: Schedule = (expression, work) => {
  const task = schedule(expression, work);
  return () => void task.destroy();
};

/** True for an expression that `cronSchedule` takes. */
export function isCron(expression: string): boolean {
  return validate(expression);
}
