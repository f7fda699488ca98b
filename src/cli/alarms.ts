import type { Command } from "commander";
import { type ApiClient, listAll } from "../api-client/api-client.ts";
import { CallerError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import { formatTable } from "../lib/text-table.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";

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

/** `carillon alarms list | acknowledge`. */
export function addAlarms(program: Command, terminal: Terminal): void {
  const commands = program
    .command("alarms")
    .description("List and acknowledge alarms.")
    .addHelpText(
      "after",
      '\nExample:\n  carillon alarms\n  carillon alarms acknowledge onprem_server_yellow --note "New disk is ordered"',
    );
  addApplianceOptions(commands.command("list", { isDefault: true }), terminal)
    .description("List the active alarms with their reasons and acknowledgements.")
    .option("--all", "include alarms that are OK")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon alarms list --all")
    .action((options: ListOptions) => list(apiClientFrom(options, terminal), options, terminal));
  addApplianceOptions(commands.command("acknowledge <alarm>"), terminal)
    .description("Acknowledge an active alarm; it stays active until its cause is gone.")
    .option("--note <words>", "what you are doing about it")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      '\nExample:\n  carillon alarms acknowledge onprem_server_yellow --note "New disk is ordered"\n\n' +
        "Name an alarm by its type (the first column of the list) or its id. Any change of the alarm ends the\n" +
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
    const head = ["Alarm", "Status", "Since", "Acknowledged", "Reason"];
    for (const line of formatTable([head, ...alarms.flatMap(alarmRows)])) terminal.out(line);
  } else terminal.err("No active alarms. Show all alarms: carillon alarms list --all");
  const open = alarms.find(({ status, acknowledgedAt }) => status === "ACTIVE" && acknowledgedAt === null);
  if (open) terminal.err(`  Acknowledge it: carillon alarms acknowledge ${open.type} --note "…"`);
}

/** One table row per reason; the alarm's own columns are filled in the first one only. */
function alarmRows({ type, status, acknowledgedBy, acknowledgedAt, acknowledgementNote, reasons }: Alarm): string[][] {
  const by = acknowledgedAt === null ? "" : `${acknowledgedBy ?? "yes"}${noteSuffix(acknowledgementNote)}`;
  const lines = reasons.map(({ endpointName, reason, since }) => ({
    since,
    text: endpointName === null ? reason : `${endpointName}: ${reason}`,
  }));
  const [first = { since: "", text: "" }, ...others] = lines;
  return [[type, status, first.since, by, first.text], ...others.map(({ since, text }) => ["", "", since, "", text])];
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
    const names = alarms.map(({ type }) => type).join(", ");
    throw new CallerError(
      "invalid-value",
      `Alarm ${named} not found. Existing alarms: ${names || "none that you may see"}.`,
    );
  }
  const done = await api.post<Alarm>(`/alarms/${alarm.id}/acknowledge`, note === undefined ? {} : { note });
  terminal.out(json ? JSON.stringify(done) : `${done.type} acknowledged by ${done.acknowledgedBy}.`);
}
