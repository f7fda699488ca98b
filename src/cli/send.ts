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
import {
  deviceOutcome,
  OUTCOME_NAMES,
  type ReachVerdict,
  reachedTotal,
  VERDICT_NAMES,
} from "../resources/notifications/device-outcomes.ts";
import { countOutcomes, reachVerdict } from "../resources/notifications/outcome-counts.ts";
import { REACH_WARNING_CODES } from "../resources/notifications/reach-warnings.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";
import { counted } from "./counted.ts";

interface SendOptions extends ApplianceOptions {
  to: string[];
  allDevices?: true;
  text?: string;
  tone?: string;
  speech: boolean;
  emergency?: true;
  drill?: true;
  json?: true;
}

interface Group {
  id: string;
  name: string;
  filterType: string;
  baseDeviceGroupIds: string[];
  exclusionIds: string[];
  lostReferences: number;
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
const DEFAULT_TONE = "chime";

/** `carillon send`: sends one message to device groups and follows the deliveries to their end. */
export function addSend(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(program.command("send <subject>"), terminal)
    .description("Send a message to devices and report the result of each.")
    .option("--to <group>", "device group, by name or id; repeatable", (one, all: string[]) => [...all, one], [])
    .option("--all-devices", "send to all devices of the appliance")
    .option("--text <text>", "text that devices show below the subject")
    .addOption(new Option("--tone <tone>", "tone played before the message").choices(ALERT_TONE_NAMES))
    .option("--no-speech", "do not speak the text where a group has loudspeakers, which cannot show it")
    .option("--emergency", "interrupt everything else, and send again to devices that have not heard it")
    .option("--drill", "mark the message as a drill")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      '\nExample:\n  carillon send "Fire drill at 10:00" --tone chime --drill --all-devices\n\n' +
        "A group with loudspeakers hears a tone, then the text in the language of the default voice.\n" +
        "Without --drill the message is live. Exit code 1 when someone did not get it, or the message would reach no one;\n" +
        "the table and the warning end with the reasons.",
    )
    .action(async (subject: string, options: SendOptions) => {
      const api = apiClientFrom(options, terminal);
      const { text: body, drill, json } = options;
      const priority = options.emergency ? "critical" : undefined;
      const deviceGroupIds = await groupsOf(api, options);
      const audio = await audioFor(api, options, deviceGroupIds);
      const message = { subject, body, ...audio, priority, drill, deviceGroupIds };
      const { id, approval, warnings = [] } = await api.postIdempotent<Sent>("/notifications", message);
      const reachesNoOne = warnings.some(({ code }) => (REACH_WARNING_CODES as readonly string[]).includes(code));
      for (const warning of warnings) terminal.err(`Warning: ${warning.message}`);
      if (approval === "waiting") {
        if (reachesNoOne) finish(EXIT.failure);
        terminal.err(`A second person must approve the message first: ${options.url}/broadcasts/${id}`);
        return terminal.out(json ? JSON.stringify({ id, approval, warnings, devices: [] }) : id);
      }
      // Without recipients there are no deliveries to wait for.
      const isEmpty = warnings.some(({ code }) => code === "no-recipients");
      const devices = isEmpty ? [] : await followMessage(api, id, terminal);
      const verdict = reachVerdict(countOutcomes(devices));
      const problems = await audioProblems(api, id);
      for (const problem of problems) terminal.err(problem);
      if (json) terminal.out(JSON.stringify({ id, approval, warnings, verdict, devices: devices.map(brief) }));
      else for (const line of [...tableOf(devices), ...summaryOf(devices, verdict)]) terminal.out(line);
      const isMissing = devices.some(isMissed) || problems.length > 0 || reachesNoOne;
      finish(isMissing ? EXIT.failure : EXIT.ok);
    });
}

/** `carillon message`: the result of a message so far, with the same table and exit code as `carillon send`. */
export function addMessage(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(program.command("message <id>"), terminal)
    .description("Show the result of a message for each device.")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nThe id is in the address of the message's page and in the output of `carillon send --json`.\n" +
        "Exit code 1 when a device was not reached; such devices come last, with the reason.",
    )
    .action(async (id: string, options: ApplianceOptions & { json?: true }) => {
      const api = apiClientFrom(options, terminal);
      const path = `/notifications/${encodeURIComponent(id)}`;
      const { subject, catchingUp } = await api.get<{ subject: string | null; catchingUp: boolean }>(path);
      const devices = await listAll<DeliveryStatusRow>(api, `${path}/devices`);
      const verdict = reachVerdict(countOutcomes(devices));
      if (options.json) terminal.out(JSON.stringify({ id, subject, catchingUp, verdict, devices: devices.map(brief) }));
      else for (const line of [...tableOf(devices), ...summaryOf(devices, verdict)]) terminal.out(line);
      if (catchingUp) terminal.err("It will be sent again to devices that have not heard it.");
      finish(devices.some(isMissed) ? EXIT.failure : EXIT.ok);
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

/** Loudspeakers cannot show text: a group that has some hears a tone and the text. */
async function audioFor(
  api: ApiClient,
  { tone, speech }: SendOptions,
  deviceGroupIds: readonly string[],
): Promise<{ alertTone: string | undefined; ttsType?: "subject-and-body" }> {
  if (!speech) return { alertTone: tone };
  for (const id of deviceGroupIds) {
    const { data } = await api.get<ApiPage<unknown>>(`/device-groups/${id}/devices?type=speakers&limit=1`);
    if (data.length > 0) return { alertTone: tone ?? DEFAULT_TONE, ttsType: "subject-and-body" };
  }
  return { alertTone: tone };
}

/** Why it has its level, and what a microphone in the room recorded. */
function explain({ level, reason, matchDelayMs, matchLevelDb }: DeliveryStatusRow): string {
  const isMeasured = level === "heard" && matchDelayMs !== null && matchLevelDb !== null;
  const match = isMeasured
    ? [`in the room after ${Math.round(matchDelayMs)} ms, ${matchLevelDb} dB over the noise`]
    : [];
  return [...(reason === null ? [] : [reason]), ...match].join("; ");
}

/** Why the message was sent without some of its audio. */
async function audioProblems(api: ApiClient, id: string): Promise<string[]> {
  const activities = await listAll<{ type: string; details: { severity?: string; message?: string } | null }>(
    api,
    `/notifications/${id}/activities`,
  );
  return activities.flatMap(({ details }) =>
    details?.severity === "error" && details.message !== undefined ? [details.message] : [],
  );
}

function isMissed(delivery: DeliveryStatusRow): boolean {
  return deviceOutcome(delivery) === "notReached";
}

function brief(delivery: DeliveryStatusRow) {
  const { deviceIdentifier, name, level, reason, matchPValue, matchDelayMs, matchLevelDb } = delivery;
  const match = { matchPValue, matchDelayMs, matchLevelDb };
  return { deviceIdentifier, name, level, outcome: deviceOutcome(delivery), reason, ...match };
}

/** Failures come last, where they are seen. */
function tableOf(lines: readonly DeliveryStatusRow[]): string[] {
  const sorted = [...lines.filter((line) => !isMissed(line)), ...lines.filter(isMissed)];
  return formatTable([["Device", "Identifier", "Outcome", "Reason"], ...sorted.map(cellsOf)]);
}

/** What the outcomes add up to, and again the devices that were not reached. */
function summaryOf(lines: readonly DeliveryStatusRow[], verdict: ReachVerdict): string[] {
  const missed = lines.filter(isMissed);
  const summary = `${VERDICT_NAMES[verdict]}: ${reachedTotal(countOutcomes(lines))} of ${counted(lines.length, "device")}.`;
  if (missed.length === 0) return ["", summary];
  return ["", `${summary} Not reached: ${missed.length}`, ...formatTable(missed.map(cellsOf))];
}

function cellsOf(line: DeliveryStatusRow): string[] {
  return [line.name, line.deviceIdentifier, OUTCOME_NAMES[deviceOutcome(line)], explain(line)];
}
