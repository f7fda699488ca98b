import { schedule } from "node-cron";
import { normalizeCron } from "../settings/cron.ts";
import type { CronScheduler } from "./load-service.ts";

/** Runs work at the times of a cron expression, in the local time of the appliance; runs missed during downtime are skipped. */
export const cronSchedule: CronScheduler = (expression, work) => {
  const task = schedule(normalizeCron(expression) ?? expression, work);
  return () => void task.destroy();
};
