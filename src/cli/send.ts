import { type Command, Option } from "commander";
import { type ApiClient, type ApiPage, listAll } from "../api-client/api-client.ts";
import { type DeliveryStatusRow, followDeliveries } from "../api-client/follow-deliveries.ts";
import { systemClock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { formatTable } from "../lib/text-table.ts";
import { includesAllDevices } from "../resources/devices/device-group-fields.ts";
import { ALERT_TONE_NAMES } from "../resources/messages/alert-tones.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";
import { EXIT } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

interface SendOptions extends ApplianceOptions {
  to: string[];
  allDevices?: true;
  text?: string;
  tone?: string;
  drill?: true;
  json?: true;
}

interface Group {
  id: string;
  name: string;
  filterType: string;
  baseDeviceGroupIds: string[];
  exclusionIds: string[];
}

interface Sent {
  id: string;
  approval: string | null;
}

/** own choice: spoken messages are said again and again, and who does not answer is called again */
const LONGEST_MS = 15 * 60_000;
/** own choice: what the console calls the group that it makes for a first test */
const ALL_DEVICES = "All devices";

/** `carillon send`: one message to groups of devices, followed to the proof of each. */
export function addSend(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(program.command("send <subject>"), terminal)
    .description("Send a message to devices and say of each how far it is proven to have got it.")
    .option(
      "--to <group>",
      "device group, by its name or id; may be given again",
      (one, all: string[]) => [...all, one],
      [],
    )
    .option("--all-devices", "to every device that the appliance knows")
    .option("--text <text>", "what devices show below the subject")
    .addOption(new Option("--tone <tone>", "tone that opens it").choices(ALERT_TONE_NAMES))
    .option("--drill", "mark it as a drill")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      '\nExample:\n  carillon send "Fire drill at 10:00" --tone chime --drill --all-devices\n\n' +
        "Without --drill it is live. Exit code 1 when a device did not get it; the reasons are in the table.",
    )
    .action(async (subject: string, options: SendOptions) => {
      const api = apiClientFrom(options, terminal);
      const { text: body, tone: alertTone, drill, json } = options;
      const deviceGroupIds = await groupsOf(api, options);
      const message = { subject, body, alertTone, drill, deviceGroupIds };
      const { id, approval } = await api.postIdempotent<Sent>("/notifications", message);
      if (approval === "waiting") {
        terminal.err(`Another person must approve it first: ${options.url}/broadcasts/${id}`);
        return terminal.out(json ? JSON.stringify({ id, approval, devices: [] }) : id);
      }
      const devices = await followMessage(api, id, terminal);
      if (json) terminal.out(JSON.stringify({ id, approval, devices: devices.map(brief) }));
      else for (const line of tableOf(devices)) terminal.out(line);
      finish(devices.every(isReached) ? EXIT.ok : EXIT.failure);
    });
}

/** Ids of the groups that the options name; with --all-devices that of a group without a rule, made where there is none. */
async function groupsOf(api: ApiClient, { to, allDevices }: SendOptions): Promise<string[]> {
  if (to.length === 0 && !allDevices) throw new CallerError("required", "Say to whom: --to GROUP, or --all-devices.");
  if (allDevices && to.length === 0) await requireDevices(api);
  const groups = await listAll<Group>(api, "/device-groups");
  const named = to.map((name) => {
    const group = groups.find((one) => one.name === name || one.id === name);
    const there = groups.length === 0 ? "There is none yet." : `There are ${groups.map((one) => one.name).join(", ")}.`;
    if (!group) throw new CallerError("invalid-value", `There is no device group ${name}. ${there}`);
    return group.id;
  });
  if (!allDevices) return named;
  const made = { name: ALL_DEVICES, filterType: "ACCEPT" };
  const { id } = groups.find(includesAllDevices) ?? (await api.post<Pick<Group, "id">>("/device-groups", made));
  return [...named, id];
}

/** A message that nobody can get would be followed for a minute. */
async function requireDevices(api: ApiClient): Promise<void> {
  const { data } = await api.get<ApiPage<unknown>>("/devices?limit=1");
  if (data.length > 0) return;
  throw new CallerError("not-found", "There is no device yet: carillon device --help shows how one is made known.");
}

async function followMessage(api: ApiClient, id: string, terminal: Terminal): Promise<DeliveryStatusRow[]> {
  const stopping = new AbortController();
  const reason = new UpstreamError("upstream", "The message was sent and goes on; nobody follows it here any more.");
  const endListening = terminal.onStop(() => stopping.abort(reason));
  try {
    const onProgress = (counts: string): void => terminal.err(counts);
    const isDone = ({ endedAt }: DeliveryStatusRow): boolean => endedAt !== null;
    const { signal } = stopping;
    return await followDeliveries(api, id, { clock: systemClock, signal, onProgress, isDone, longestMs: LONGEST_MS });
  } finally {
    endListening();
  }
}

function isReached({ level }: DeliveryStatusRow): boolean {
  return level !== "failed" && level !== "expired";
}

function brief({ deviceIdentifier, name, level, reason }: DeliveryStatusRow) {
  return { deviceIdentifier, name, level, reason };
}

function tableOf(lines: readonly DeliveryStatusRow[]): string[] {
  const rows = lines.map((line) => [line.name, line.deviceIdentifier, line.level, line.reason ?? ""]);
  return formatTable([["Device", "Identifier", "Proven", "Reason"], ...rows]);
}
