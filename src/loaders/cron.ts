import { schedule } from "node-cron";
import { cronOf } from "../settings/cron.ts";
import type { Schedule } from "./load-definitions.ts";

/** Calls work at the times of a cron expression, in the local time of the appliance; times missed while it was off are gone. */
export const cronSchedule: Schedule = (expression, work) => {
  const task = schedule(cronOf(expression) ?? expression, work);
  return () => void task.destroy();
};
