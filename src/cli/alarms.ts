import type { Command } from "commander";
import { type ApiClient, listAll } from "../api-client/api-client.ts";
import { CallerError } from "../lib/errors.ts";
import { formatTable } from "../lib/text-table.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";
import type { Terminal } from "./terminal.ts";

interface ListOptions extends ApplianceOptions {
  all?: true;
  json?: true;
}

interface AcknowledgeOptions extends ApplianceOptions {
  note?: string;
  json?: true;
}

interface Alarm {
  id: string;
  type: string;
  status: "OK" | "ACTIVE";
  acknowledgedAt: string | null;
  acknowledgedBy: string | null;
  acknowledgementNote: string | null;
  reasons: { endpointName: string | null; reason: string; since: string }[];
}

/** `carillon alarms list | acknowledge`: what is wrong, and that somebody sees to it. */
export function addAlarms(program: Command, terminal: Terminal): void {
  const commands = program
    .command("alarms")
    .description("Show what is wrong, and say that somebody sees to it.")
    .addHelpText(
      "after",
      '\nExample:\n  carillon alarms\n  carillon alarms acknowledge onprem_server_yellow --note "New disk is ordered"',
    );
  addApplianceOptions(commands.command("list", { isDefault: true }), terminal)
    .description("List the active alarms with their reasons, and who sees to them.")
    .option("--all", "those that are OK, too")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon alarms list --all")
    .action((options: ListOptions) => list(apiClientFrom(options, terminal), options, terminal));
  addApplianceOptions(commands.command("acknowledge <alarm>"), terminal)
    .description("Say that you see to an active alarm; it stays active until what is wrong is over.")
    .option("--note <words>", "what is being done about it")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      '\nExample:\n  carillon alarms acknowledge onprem_server_yellow --note "New disk is ordered"\n\n' +
        "An alarm is named by its type, which the list begins with, or by its id. Whatever changes of it ends the\n" +
        "acknowledgement.",
    )
    .action((named: string, options: AcknowledgeOptions) =>
      acknowledge(apiClientFrom(options, terminal), named, options, terminal),
    );
}

async function list(api: ApiClient, { all, json }: ListOptions, terminal: Terminal): Promise<void> {
  const alarms = await listAll<Alarm>(api, all ? "/alarms" : "/alarms?status=ACTIVE");
  if (json) return terminal.out(JSON.stringify(alarms));
  if (alarms.length > 0) {
    const head = ["Alarm", "Status", "Since", "Acknowledged", "What is wrong"];
    for (const line of formatTable([head, ...alarms.flatMap(alarmRows)])) terminal.out(line);
  } else terminal.err("No alarm is active. Those that are watched: carillon alarms list --all");
  const open = alarms.find(({ status, acknowledgedAt }) => status === "ACTIVE" && acknowledgedAt === null);
  if (open) terminal.err(`  Who sees to it says so: carillon alarms acknowledge ${open.type} --note "…"`);
}

/** A line for each reason, the alarm's own words in the first one alone. */
function alarmRows({ type, status, acknowledgedBy, acknowledgedAt, acknowledgementNote, reasons }: Alarm): string[][] {
  const by = acknowledgedAt === null ? "" : `${acknowledgedBy ?? "yes"}${noteSuffix(acknowledgementNote)}`;
  const told = reasons.map(({ endpointName, reason, since }) => ({
    since,
    words: endpointName === null ? reason : `${endpointName}: ${reason}`,
  }));
  const [first = { since: "", words: "" }, ...others] = told;
  return [
    [type, status, first.since, by, first.words],
    ...others.map(({ since, words }) => ["", "", since, "", words]),
  ];
}

function noteSuffix(note: string | null): string {
  return note ? ` (${note})` : "";
}

async function acknowledge(
  api: ApiClient,
  named: string,
  { note, json }: AcknowledgeOptions,
  terminal: Terminal,
): Promise<void> {
  const alarms = await listAll<Alarm>(api, "/alarms");
  const alarm = alarms.find(({ id, type }) => id === named || type === named);
  if (!alarm) {
    const known = alarms.map(({ type }) => type).join(", ");
    throw new CallerError(
      "invalid-value",
      `There is no alarm ${named}. There are ${known || "none that you may see"}.`,
    );
  }
  const done = await api.post<Alarm>(`/alarms/${alarm.id}/acknowledge`, note === undefined ? {} : { note });
  terminal.out(json ? JSON.stringify(done) : `${done.type} is acknowledged by ${done.acknowledgedBy}.`);
}
