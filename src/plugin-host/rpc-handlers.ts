import { isIP } from "node:net";
import { CallerError } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { isCodec } from "../media/codecs.ts";
import { isSrtpKey, SRTP_SUITES, type SrtpMasterKey } from "../media/srtp.ts";
import type { AudioTarget, OfflineRing, TextMessage, VoicePart, VoiceTarget } from "../plugin-api/index.ts";
import { applyDeviceReport } from "./device-reports.ts";
import type { PluginHostDeps } from "./plugin-host-deps.ts";
import type { HostMethod } from "./plugin-protocol.ts";
import { readPluginState, writePluginState } from "./plugin-state.ts";
import { listResourceRows } from "./readable-resources.ts";

const MAX_PORT = 65_535;
/** own choice: more than ten text messages in one */
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_PAUSE_MS = 60_000;
const MAX_PARTS = 64;
const MAX_SSRC = 0xffff_ffff;
const MAX_OUTDATED_DEVICES = 50_000;

/** What answering plugins needs. */
export interface PluginCallDeps
  extends Pick<
    PluginHostDeps,
    "store" | "by" | "endpointId" | "openStream" | "closeStream" | "voice" | "rings" | "confirm" | "receive" | "trigger"
  > {
  findProvider(type: string, deviceIdentifier: string): string | null;
  /** Names of the resources that the plugin's manifest grants. */
  grants: readonly string[];
  /** The manifest grants the rings to come. */
  mayHearRings: boolean;
}

/** The host's side of a plugin's calls; arguments are checked, since they come from the plugin. */
export async function handlePluginCall(
  plugin: string,
  method: HostMethod,
  args: readonly unknown[],
  needs: PluginCallDeps,
): Promise<unknown> {
  switch (method) {
    case "stream.open":
      return needs.openStream(plugin, checkedTarget(args[0]), checkedId(args[1], "stream.open: a notification"));
    case "stream.close":
      return needs.closeStream(checkedAddress(args[0]), checkedId(args[1], "stream.close: a notification"));
    case "voice.prepare":
      return needs.voice.prepare(checkedParts(args[0]), checkedId(args[1], "voice: a notification"));
    case "voice.open":
      return needs.voice.open(plugin, checkedVoiceTarget(args[0]));
    case "voice.say":
      return needs.voice.say(
        plugin,
        checkedAddress(args[0]),
        checkedParts(args[1]),
        checkedId(args[2], "voice: a notification"),
      );
    case "voice.close":
      return needs.voice.close(plugin, checkedAddress(args[0]));
    case "confirm":
      return needs.confirm(plugin, checkedId(args[0], "confirm: a recipient"), checkedOption(args[1]));
    case "receive":
      return needs.receive(checkedMessage(args[0]));
    case "trigger":
      return needs.trigger(plugin, args[0]);
    case "devices.report":
      return applyDeviceReport(plugin, args[0], needs);
    case "resources.list":
      return listResourceRows(args[0], needs);
    case "rings.planned":
    case "rings.sound":
    case "rings.playedAlone":
    case "rings.behind":
      return handleRingCall(plugin, method, args, needs);
    case "state.get":
      return readPluginState(needs.store, plugin, args[0]);
    case "state.set":
      return writePluginState(needs.store, plugin, args[0], args[1]);
    default:
      throw new CallerError("invalid-value", "there is no such call");
  }
}

async function handleRingCall(
  plugin: string,
  method: "rings.planned" | "rings.sound" | "rings.playedAlone" | "rings.behind",
  [named, more]: readonly unknown[],
  { rings, mayHearRings }: PluginCallDeps,
): Promise<unknown> {
  if (!mayHearRings) throw new CallerError("invalid-value", `${method}: plugin.json does not grant rings`);
  if (method === "rings.behind") return rings?.behind(plugin, checkedNames(named));
  if (typeof named !== "string") throw new CallerError("invalid-value", `${method}: a text is expected`);
  if (method === "rings.planned") return (await rings?.planned(plugin, named)) ?? null;
  if (method === "rings.sound") return (await rings?.sound(plugin, named, Number(more) || 0)) ?? null;
  await rings?.playedAlone(plugin, named, checkedRings(more));
  return undefined;
}

function checkedNames(given: unknown): string[] {
  const isList = Array.isArray(given) && given.length <= MAX_OUTDATED_DEVICES;
  if (!isList || given.some((name) => typeof name !== "string"))
    throw new CallerError("invalid-value", `rings.behind: a list of at most ${MAX_OUTDATED_DEVICES} texts`);
  return given;
}

function checkedRings(given: unknown): OfflineRing[] {
  if (!Array.isArray(given)) throw new CallerError("invalid-value", "rings.playedAlone: a list is expected");
  return given.map((each) => {
    const { ringId, at } = (each ?? {}) as Record<string, unknown>;
    if (typeof at !== "number") throw new CallerError("invalid-value", "rings.playedAlone: at is a time");
    return { ringId: checkedId(ringId, "rings.playedAlone: a ring"), at };
  });
}

function checkedTarget(given: unknown): Omit<AudioTarget, "ssrc"> {
  const { codec, ttl, sourcePort, secrecy } = (given ?? {}) as Record<string, unknown>;
  const address = checkedAddress(given);
  if (!isFrom1To(255, ttl)) throw new CallerError("invalid-value", "stream: ttl is 1 to 255");
  if (sourcePort !== undefined && !isFrom1To(MAX_PORT, sourcePort))
    throw new CallerError("invalid-value", "stream: sourcePort is 1 to 65535");
  if (!isCodec(codec)) throw new CallerError("invalid-value", "stream: codec is PCMU, PCMA or G722");
  return {
    ...{ ...address, codec, ttl },
    ...(sourcePort === undefined ? {} : { sourcePort }),
    ...(secrecy === undefined ? {} : { secrecy: checkedSecrecy(secrecy) }),
  };
}

function checkedSecrecy(given: unknown): SrtpMasterKey {
  const { suite, key } = (given ?? {}) as Record<string, unknown>;
  const known = SRTP_SUITES.find((each) => each === suite);
  if (!known || typeof key !== "string" || !isSrtpKey(key))
    throw new CallerError("invalid-value", "stream: secrecy is a known suite and a key of 30 bytes");
  return { suite: known, key };
}

function checkedVoiceTarget(given: unknown): VoiceTarget {
  const { ssrc } = (given ?? {}) as Record<string, unknown>;
  const { sourcePort, ...target } = checkedTarget({ ...(given as object), ttl: 1 });
  if (sourcePort === undefined) throw new CallerError("invalid-value", "voice: sourcePort is 1 to 65535");
  if (!Number.isInteger(ssrc) || (ssrc as number) < 0 || (ssrc as number) > MAX_SSRC)
    throw new CallerError("invalid-value", "voice: ssrc is a number of 32 bits");
  return { ...target, sourcePort, ssrc: ssrc as number };
}

function checkedParts(given: unknown): VoicePart[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_PARTS)
    throw new CallerError("invalid-value", `voice: a list of 1 to ${MAX_PARTS} parts is expected`);
  return given.map(checkedPart);
}

function checkedPart(given: unknown): VoicePart {
  const { text, message, pauseMs } = (given ?? {}) as Record<string, unknown>;
  if (message === true) return { message };
  if (isFrom1To(MAX_PAUSE_MS, pauseMs)) return { pauseMs };
  if (typeof text === "string" && text.trim() !== "" && text.length <= MAX_MESSAGE_LENGTH) return { text };
  throw new CallerError("invalid-value", "voice: a part is a text, the message, or a pause of at most a minute");
}

function checkedAddress(given: unknown): Pick<AudioTarget, "group" | "port"> {
  const { group, port } = (given ?? {}) as Record<string, unknown>;
  if (typeof group !== "string" || isIP(group) !== 4)
    throw new CallerError("invalid-value", "stream: group is an IPv4 address");
  if (!isFrom1To(MAX_PORT, port)) throw new CallerError("invalid-value", "stream: port is 1 to 65535");
  return { group, port };
}

function isFrom1To(most: number, value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most;
}

function checkedId(given: unknown, what: string): string {
  if (!isUuid(given)) throw new CallerError("invalid-value", `${what} is named by its id`);
  return given;
}

function checkedMessage(given: unknown): TextMessage {
  const { from, text } = (given ?? {}) as Record<string, unknown>;
  if (typeof from !== "string" || typeof text !== "string" || text.length > MAX_MESSAGE_LENGTH)
    throw new CallerError("invalid-value", "receive: from and text are texts, the latter of 2,000 characters at most");
  return { from, text };
}

function checkedOption(given: unknown): string {
  if (typeof given !== "string") throw new CallerError("invalid-value", "confirm: the option is a text");
  return given;
}
