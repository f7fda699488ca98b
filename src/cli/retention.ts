import type { Command } from "commander";
import { UpstreamError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { RetentionReport, RetentionRun } from "../notifications/retention/history-retention.ts";
import { sendControlCommand } from "../wiring/control-socket.ts";
import { counted } from "./counted.ts";

interface RetentionOptions {
  data: string;
  json?: true;
}

/** `carillon retention show | run`; needs the running daemon. */
export function addRetention(program: Command, terminal: Terminal): void {
  const retention = program
    .command("retention")
    .description("Show or remove history that is past its retention: deliveries, recipients, activity logs, positions.")
    .addHelpText("after", "\nExample:\n  carillon retention show --data /var/lib/carillon");
  const add = (name: string, description: string): Command =>
    retention
      .command(name)
      .description(description)
      .requiredOption("--data <dir>", "data directory of the appliance; its daemon must run")
      .option("--json", "print one line of JSON")
      .addHelpText("after", `\nExample:\n  carillon retention ${name} --data /var/lib/carillon`);
  add("show", "Show what is due, by kind of message; removes nothing.").action(
    async ({ data, json }: RetentionOptions) => {
      const report = (await runCommand(data, "retention.show")) as RetentionReport;
      for (const line of json ? [JSON.stringify(report)] : describeReport(report)) terminal.out(line);
    },
  );
  add("run", "Remove what is due now. Sums by message and place stay.").action(
    async ({ data, json }: RetentionOptions) => {
      const run = (await runCommand(data, "retention.run")) as RetentionRun;
      terminal.out(json ? JSON.stringify(run) : describeRun(run));
    },
  );
}

async function runCommand(dataDir: string, order: string): Promise<unknown> {
  const response = await sendControlCommand(dataDir, { order, args: {} });
  if (response) return response.result;
  throw new UpstreamError("starting", `No daemon runs on ${dataDir}; start it first.`, { dataDir });
}

const period = (days: number | null): string => (days === null ? "for ever" : counted(days, "day"));

function describeReport(report: RetentionReport) {
  const { schedule, due, answersDays, positionsDays, heldNotifications, waitsUntil, lastRun } = report;
  return [
    ...due.map(
      ({ kind, days, notifications, deliveries, recipients, oldestAt }) =>
        `${kind.padEnd(12)} kept ${period(days)}; due: ${counted(notifications, "message")}, ${counted(deliveries, "delivery", "deliveries")}, ${counted(recipients, "recipient")}` +
        (oldestAt === null ? "" : `, since ${new Date(oldestAt).toISOString().slice(0, 10)}`),
    ),
    `${"answers".padEnd(12)} kept ${period(answersDays)}`,
    `${"positions".padEnd(12)} kept ${period(positionsDays)}`,
    `Held by a legal hold or an open incident: ${counted(heldNotifications, "message")}`,
    schedule === null ? "Removed on request only." : `Removed at ${schedule} (cron, local time).`,
    ...(waitsUntil === null
      ? []
      : [
          `Nothing is removed before ${new Date(waitsUntil).toISOString()}. Check the date of the machine and what is due.`,
        ]),
    ...(lastRun ? [`Last run ${new Date(lastRun.at).toISOString()}: ${describeRun(lastRun)}`] : []),
  ];
}

function describeRun({ notifications, deliveries, recipients, activities, answers, positions }: RetentionRun): string {
  return [
    `removed the details of ${counted(notifications, "message")}: ${counted(deliveries, "delivery", "deliveries")}`,
    counted(recipients, "recipient"),
    `${counted(activities, "activity log entry", "activity log entries")}; ${counted(answers, "answer")}`,
    counted(positions, "position"),
  ].join(", ");
}
