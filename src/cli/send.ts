import { type Command, Option } from "commander";
import { type ApiClient, type ApiPage, listAll } from "../api-client/api-client.ts";
import { type DeliveryStatusRow, followDeliveries } from "../api-client/follow-deliveries.ts";
import { systemClock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import { formatTable } from "../lib/text-table.ts";
import { includesAllDevices } from "../resources/devices/device-group-fields.ts";
import { ALERT_TONE_NAMES } from "../resources/messages/alert-tones.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";

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
  warnings: readonly { code: string; message: string }[];
}

/** Messages may repeat and unanswered calls are retried, so a delivery can take long. */
const MAX_FOLLOW_MS = 15 * 60_000;
/** The console uses the same name for the group that it creates for a first test. */
const ALL_DEVICES = "All devices";

/** `carillon send`: sends one message to device groups and follows the deliveries to their end. */
export function addSend(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(program.command("send <subject>"), terminal)
    .description("Send a message to devices and report the result of each.")
    .option("--to <group>", "device group, by name or id; repeatable", (one, all: string[]) => [...all, one], [])
    .option("--all-devices", "send to all devices of the appliance")
    .option("--text <text>", "text that devices show below the subject")
    .addOption(new Option("--tone <tone>", "tone played before the message").choices(ALERT_TONE_NAMES))
    .option("--drill", "mark the message as a drill")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      '\nExample:\n  carillon send "Fire drill at 10:00" --tone chime --drill --all-devices\n\n' +
        "Without --drill the message is live. Exit code 1 when a device was not reached, or the " +
        "message would reach no one; the table and the warning show the reasons.",
    )
    .action(async (subject: string, options: SendOptions) => {
      const api = apiClientFrom(options, terminal);
      const { text: body, tone: alertTone, drill, json } = options;
      const deviceGroupIds = await groupsOf(api, options);
      const message = { subject, body, alertTone, drill, deviceGroupIds };
      const { id, approval, warnings = [] } = await api.postIdempotent<Sent>("/notifications", message);
      for (const warning of warnings) terminal.err(`Warning: ${warning.message}`);
      if (approval === "waiting") {
        if (warnings.length > 0) finish(EXIT.failure);
        terminal.err(`A second person must approve the message first: ${options.url}/broadcasts/${id}`);
        return terminal.out(json ? JSON.stringify({ id, approval, warnings, devices: [] }) : id);
      }
      // Without recipients there are no deliveries to wait for.
      const isEmpty = warnings.some(({ code }) => code === "no-recipients");
      const devices = isEmpty ? [] : await followMessage(api, id, terminal);
      if (json) terminal.out(JSON.stringify({ id, approval, warnings, devices: devices.map(brief) }));
      else for (const line of tableOf(devices)) terminal.out(line);
      finish(warnings.length === 0 && devices.every(isReached) ? EXIT.ok : EXIT.failure);
    });
}

/** Ids of the groups that the options name; --all-devices uses the group without a filter and creates it if missing. */
async function groupsOf(api: ApiClient, { to, allDevices }: SendOptions): Promise<string[]> {
  if (to.length === 0 && !allDevices)
    throw new CallerError("required", "Recipients missing: add --to GROUP or --all-devices.");
  if (allDevices && to.length === 0) await requireDevices(api);
  const groups = await listAll<Group>(api, "/device-groups");
  const named = to.map((name) => {
    const group = groups.find((one) => one.name === name || one.id === name);
    const hint =
      groups.length === 0
        ? "There are no device groups yet."
        : `Existing groups: ${groups.map((one) => one.name).join(", ")}.`;
    if (!group) throw new CallerError("invalid-value", `Device group ${name} not found. ${hint}`);
    return group.id;
  });
  if (!allDevices) return named;
  const allDevicesGroup = { name: ALL_DEVICES, filterType: "ACCEPT" };
  const { id } =
    groups.find(includesAllDevices) ?? (await api.post<Pick<Group, "id">>("/device-groups", allDevicesGroup));
  return [...named, id];
}

/** Without any device the command would wait a minute for deliveries that never come. */
async function requireDevices(api: ApiClient): Promise<void> {
  const { data } = await api.get<ApiPage<unknown>>("/devices?limit=1");
  if (data.length > 0) return;
  throw new CallerError("not-found", "No devices yet. To register one, see: carillon device --help");
}

async function followMessage(api: ApiClient, id: string, terminal: Terminal): Promise<DeliveryStatusRow[]> {
  const stopping = new AbortController();
  const reason = new UpstreamError(
    "upstream",
    "The message was sent; the deliveries continue, but this command no longer follows them.",
  );
  const endListening = terminal.onStop(() => stopping.abort(reason));
  try {
    const onProgress = (counts: string): void => terminal.err(counts);
    const isDone = ({ endedAt }: DeliveryStatusRow): boolean => endedAt !== null;
    const { signal } = stopping;
    return await followDeliveries(api, id, {
      clock: systemClock,
      signal,
      onProgress,
      isDone,
      longestMs: MAX_FOLLOW_MS,
    });
  } finally {
    endListening();
  }
}

function isReached({ level }: DeliveryStatusRow): boolean {
  return level !== "failed" && level !== "expired";
}

function brief({ deviceIdentifier, name, level, reason, ...row }: DeliveryStatusRow) {
  const { matchPValue, matchDelayMs, matchLevelDb } = row;
  return { deviceIdentifier, name, level, reason, matchPValue, matchDelayMs, matchLevelDb };
}

/** Why it has its level, and what a microphone in the room recorded. */
function explain({ level, reason, matchDelayMs, matchLevelDb }: DeliveryStatusRow): string {
  const isMeasured = level === "heard" && matchDelayMs !== null && matchLevelDb !== null;
  const match = isMeasured
    ? [`in the room after ${Math.round(matchDelayMs)} ms, ${matchLevelDb} dB over the noise`]
    : [];
  return [...(reason === null ? [] : [reason]), ...match].join("; ");
}

function tableOf(lines: readonly DeliveryStatusRow[]): string[] {
  const rows = lines.map((line) => [line.name, line.deviceIdentifier, line.level, explain(line)]);
  return formatTable([["Device", "Identifier", "Level", "Reason"], ...rows]);
}
