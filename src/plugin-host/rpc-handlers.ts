import { isIP } from "node:net";
import { CallerError } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { isInterfaceName } from "../lib/network-route.ts";
import { isCodec } from "../media/codecs.ts";
import { isSrtpKey, SRTP_SUITES, type SrtpMasterKey } from "../media/srtp.ts";
import type { AudioTarget, OfflineRing, TextMessage, VoicePart, VoiceTarget } from "../plugin-api/index.ts";
import { applyDeviceReport } from "./device-reports.ts";
import type { PluginCallbacks, PluginHostDeps } from "./plugin-host-deps.ts";
import type { HostMethod } from "./plugin-protocol.ts";
import { readPluginState, writePluginState } from "./plugin-state.ts";
import { listResourceRows } from "./readable-resources.ts";

const MAX_PORT = 65_535;
const FIRST_MULTICAST_OCTET = 224;
/** Longer than ten concatenated text messages. */
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_PAUSE_MS = 60_000;
const MAX_PARTS = 64;
const MAX_SSRC = 0xffff_ffff;
const MAX_OUTDATED_DEVICES = 50_000;

export interface PluginCallDeps
  extends Pick<PluginHostDeps, "store" | "by" | "endpointId">,
    Omit<PluginCallbacks, "onOutcomes"> {
  findProvider(type: string, deviceIdentifier: string): string | null;
  /** Resources that the plugin's manifest grants. */
  grants: readonly string[];
  /** Address policy of targets that are no multicast groups. */
  isTargetAllowed(address: string): boolean;
  /** The manifest grants access to upcoming rings. */
  grantsRings: boolean;
  /** The manifest grants answering calls. */
  grantsPhone: boolean;
}

/** Handles a plugin's host call. Arguments are validated, because they come from the plugin. */
export async function handlePluginCall(
  plugin: string,
  method: HostMethod,
  args: readonly unknown[],
  deps: PluginCallDeps,
): Promise<unknown> {
  switch (method) {
    case "stream.open":
      return deps.openStream(
        plugin,
        allowedTarget(checkedTarget(args[0]), deps),
        checkedId(args[1], "stream.open: a notification"),
      );
    case "stream.close":
      return deps.closeStream(checkedAddress(args[0]), checkedId(args[1], "stream.close: a notification"));
    case "voice.prepare":
      return deps.voice.prepare(checkedParts(args[0]), checkedId(args[1], "voice: a notification"));
    case "voice.open":
      return deps.voice.open(plugin, allowedTarget(checkedVoiceTarget(args[0]), deps));
    case "voice.say":
      return deps.voice.say(
        plugin,
        checkedAddress(args[0]),
        checkedParts(args[1]),
        checkedId(args[2], "voice: a notification"),
      );
    case "voice.close":
      return deps.voice.close(plugin, checkedAddress(args[0]));
    case "phone.dial":
    case "phone.connect":
      return handlePhoneCall(plugin, method, args, deps);
    case "confirm":
      return deps.confirm(plugin, checkedId(args[0], "confirm: a recipient"), checkedOption(args[1]));
    case "receive":
      return deps.receive(checkedMessage(args[0]));
    case "trigger":
      return deps.trigger(plugin, args[0]);
    case "devices.report":
      return applyDeviceReport(plugin, args[0], deps);
    case "resources.list":
      return listResourceRows(args[0], deps);
    case "rings.planned":
    case "rings.sound":
    case "rings.playedAlone":
    case "rings.behind":
      return handleRingCall(plugin, method, args, deps);
    case "state.get":
      return readPluginState(deps.store, plugin, args[0]);
    case "state.set":
      return writePluginState(deps.store, plugin, args[0], args[1]);
    default:
      throw new CallerError("invalid-value", "unknown call");
  }
}

async function handlePhoneCall(
  plugin: string,
  method: "phone.dial" | "phone.connect",
  [named, target]: readonly unknown[],
  deps: PluginCallDeps,
): Promise<unknown> {
  const { phone, grantsPhone } = deps;
  if (!grantsPhone) throw new CallerError("invalid-value", `${method}: plugin.json does not grant phone`);
  if (method === "phone.dial") return (await phone?.dial(plugin, named)) ?? { answer: false, reason: "unknown-number" };
  if (typeof named !== "string") throw new CallerError("invalid-value", `${method}: callId must be a string`);
  await phone?.connect(plugin, named, target === null ? null : allowedTarget(checkedVoiceTarget(target), deps));
  return undefined;
}

async function handleRingCall(
  plugin: string,
  method: "rings.planned" | "rings.sound" | "rings.playedAlone" | "rings.behind",
  [named, more]: readonly unknown[],
  { rings, grantsRings }: PluginCallDeps,
): Promise<unknown> {
  if (!grantsRings) throw new CallerError("invalid-value", `${method}: plugin.json does not grant rings`);
  if (method === "rings.behind") return rings?.behind(plugin, checkedNames(named));
  if (typeof named !== "string") throw new CallerError("invalid-value", `${method}: the argument must be a string`);
  if (method === "rings.planned") return (await rings?.planned(plugin, named)) ?? null;
  if (method === "rings.sound") return (await rings?.sound(plugin, named, Number(more) || 0)) ?? null;
  await rings?.playedAlone(plugin, named, checkedRings(more));
  return undefined;
}

function checkedNames(given: unknown): string[] {
  const isList = Array.isArray(given) && given.length <= MAX_OUTDATED_DEVICES;
  if (!isList || given.some((name) => typeof name !== "string"))
    throw new CallerError("invalid-value", `rings.behind: must be a list of at most ${MAX_OUTDATED_DEVICES} strings`);
  return given;
}

function checkedRings(given: unknown): OfflineRing[] {
  if (!Array.isArray(given)) throw new CallerError("invalid-value", "rings.playedAlone: must be a list");
  return given.map((each) => {
    const { ringId, at } = (each ?? {}) as Record<string, unknown>;
    if (typeof at !== "number") throw new CallerError("invalid-value", "rings.playedAlone: at must be a number");
    return { ringId: checkedId(ringId, "rings.playedAlone: a ring"), at };
  });
}

function checkedTarget(given: unknown): Omit<AudioTarget, "ssrc"> {
  const { codec, ttl, sourcePort, secrecy, networkInterface } = (given ?? {}) as Record<string, unknown>;
  const address = checkedAddress(given);
  if (!isFrom1To(255, ttl)) throw new CallerError("invalid-value", "stream: ttl must be between 1 and 255");
  if (sourcePort !== undefined && !isFrom1To(MAX_PORT, sourcePort))
    throw new CallerError("invalid-value", "stream: sourcePort must be between 1 and 65535");
  if (networkInterface !== undefined && !(typeof networkInterface === "string" && isInterfaceName(networkInterface)))
    throw new CallerError("invalid-value", "stream: networkInterface must be the name or an address of an interface");
  if (!isCodec(codec)) throw new CallerError("invalid-value", "stream: codec must be PCMU, PCMA or G722");
  return {
    ...{ ...address, codec, ttl },
    ...(sourcePort === undefined ? {} : { sourcePort }),
    ...(secrecy === undefined ? {} : { secrecy: checkedSecrecy(secrecy) }),
    ...(networkInterface === undefined ? {} : { networkInterface }),
  };
}

/** A device chooses in its SDP where its audio goes. */
function allowedTarget<T extends Pick<AudioTarget, "group">>(target: T, { isTargetAllowed }: PluginCallDeps): T {
  const isMulticast = Number(target.group.split(".")[0]) >= FIRST_MULTICAST_OCTET && target.group !== "255.255.255.255";
  if (isMulticast || isTargetAllowed(target.group)) return target;
  throw new CallerError("invalid-value", `stream: the address ${target.group} is not in network.allowedTargets`);
}

function checkedSecrecy(given: unknown): SrtpMasterKey {
  const { suite, key } = (given ?? {}) as Record<string, unknown>;
  const known = SRTP_SUITES.find((each) => each === suite);
  if (!known || typeof key !== "string" || !isSrtpKey(key))
    throw new CallerError("invalid-value", "stream: secrecy must have a supported suite and a key of 30 bytes");
  return { suite: known, key };
}

function checkedVoiceTarget(given: unknown): VoiceTarget {
  const { ssrc } = (given ?? {}) as Record<string, unknown>;
  const { sourcePort, ...target } = checkedTarget({ ...(given as object), ttl: 1 });
  if (sourcePort === undefined) throw new CallerError("invalid-value", "voice: sourcePort must be between 1 and 65535");
  if (!Number.isInteger(ssrc) || (ssrc as number) < 0 || (ssrc as number) > MAX_SSRC)
    throw new CallerError("invalid-value", "voice: ssrc must be an unsigned 32-bit integer");
  return { ...target, sourcePort, ssrc: ssrc as number };
}

function checkedParts(given: unknown): VoicePart[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_PARTS)
    throw new CallerError("invalid-value", `voice: must be a list of 1 to ${MAX_PARTS} parts`);
  return given.map(checkedPart);
}

function checkedPart(given: unknown): VoicePart {
  const { text, message, pauseMs } = (given ?? {}) as Record<string, unknown>;
  if (message === true) return { message };
  if (isFrom1To(MAX_PAUSE_MS, pauseMs)) return { pauseMs };
  if (typeof text === "string" && text.trim() !== "" && text.length <= MAX_MESSAGE_LENGTH) return { text };
  throw new CallerError("invalid-value", "voice: a part must be text, the message, or a pause of at most a minute");
}

function checkedAddress(given: unknown): Pick<AudioTarget, "group" | "port"> {
  const { group, port } = (given ?? {}) as Record<string, unknown>;
  if (typeof group !== "string" || isIP(group) !== 4)
    throw new CallerError("invalid-value", "stream: group must be an IPv4 address");
  if (!isFrom1To(MAX_PORT, port)) throw new CallerError("invalid-value", "stream: port must be between 1 and 65535");
  return { group, port };
}

function isFrom1To(max: number, value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max;
}

function checkedId(given: unknown, what: string): string {
  if (!isUuid(given)) throw new CallerError("invalid-value", `${what} must be given by its UUID`);
  return given;
}

function checkedMessage(given: unknown): TextMessage {
  const { from, text } = (given ?? {}) as Record<string, unknown>;
  if (typeof from !== "string" || typeof text !== "string" || text.length > MAX_MESSAGE_LENGTH)
    throw new CallerError("invalid-value", "receive: from and text must be strings, text of at most 2,000 characters");
  return { from, text };
}

function checkedOption(given: unknown): string {
  if (typeof given !== "string") throw new CallerError("invalid-value", "confirm: option must be a string");
  return given;
}
