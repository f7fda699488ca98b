import { BugError, UpstreamError } from "../lib/errors.ts";
import { guardedFetch } from "../lib/guarded-fetch.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createSsrfGuard } from "../lib/ssrf-guard.ts";
import type {
  DialResult,
  PluginContext,
  PluginEvents,
  PluginRequestHandler,
  RingPlan,
  TextReply,
} from "../plugin-api/index.ts";
import type { OutcomeBatcher } from "./outcome-batch.ts";
import type { createPluginLog } from "./plugin-log.ts";
import { openPluginPort, type PluginPortDeps } from "./plugin-port.ts";
import type { FromPlugin, PluginInit } from "./plugin-protocol.ts";
import type { Registrations } from "./registrations.ts";
import type { HostRpcClient } from "./rpc-client.ts";
import { pickOutcomeFlags } from "./sanitize-outcomes.ts";
import type { ScopedClock } from "./scoped-clock.ts";

export interface PluginContextParts {
  init: PluginInit;
  /** Aborts when the plugin must stop. */
  signal: AbortSignal;
  clock: ScopedClock;
  log: ReturnType<typeof createPluginLog>;
  outcomes: OutcomeBatcher;
  calls: HostRpcClient;
  /** Filled by the plugin's registrations. */
  registrations: Registrations;
  send(message: FromPlugin): void;
  onError: PluginPortDeps["onError"];
}

/** Creates the context passed to `activate`. */
export function createPluginContext(parts: PluginContextParts): PluginContext {
  const { init, signal, clock, log, outcomes, calls, registrations: made, send } = parts;
  const ssrfGuard = createSsrfGuard({ allowedTargets: init.allowedTargets });
  const urls: Record<string, string> = {};
  return {
    config: init.config,
    log,
    signal,
    clock,
    urls,
    baseUrl: init.baseUrl,
    multicastInterface: init.multicastInterface,
    country: init.country ?? null,
    dataFolder: init.dataFolder ?? null,
    deliver(handler) {
      made.deliver = handler;
    },
    stop(handler) {
      made.stop = handler;
    },
    probe(handler) {
      made.probe = handler;
    },
    filter(handler) {
      made.filter = handler;
    },
    accountMessage(handler) {
      made.accountMessage = handler;
      send({ kind: "account-message-offered" });
    },
    report(report, handler) {
      made.reports.set(report.key, handler);
      send({ kind: "report-offered", report });
    },
    outcome(deliveryId, level, { reason, retryAfterMs, started, match, askedAgain, ...flags } = {}) {
      const details = {
        ...(reason !== undefined && { reason }),
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        ...(started !== undefined && { started }),
        ...(match !== undefined && { match }),
        ...(askedAgain !== undefined && { askedAgain }),
        ...pickOutcomeFlags(flags),
      };
      outcomes.add({ deliveryId, level, details, at: clock.now() });
    },
    stream: {
      open: (target, notificationId) => calls.call("stream.open", target, notificationId).then(() => {}),
      close: (target, notificationId) => calls.call("stream.close", target, notificationId).then(() => {}),
    },
    voice: {
      prepare: async (parts, notificationId) => (await calls.call("voice.prepare", parts, notificationId)) as number,
      open: (target) => calls.call("voice.open", target).then(() => {}),
      say: async (target, parts, id) => (await calls.call("voice.say", target, parts, id)) as number,
      close: (target) => calls.call("voice.close", target).then(() => {}),
    },
    phone: {
      dial: async (call) => (await calls.call("phone.dial", call)) as DialResult,
      connect: (callId, target) => calls.call("phone.connect", callId, target).then(() => {}),
      hear: (callId, codec, payload) => send({ kind: "phone-voice", callId, codec, payload }),
      press: (callId, key) => send({ kind: "phone-key", callId, key }),
      end: (callId) => send({ kind: "phone-end", callId }),
      onHangUp(handler) {
        made.hangUp = handler;
      },
    },
    rings: {
      planned: async (device) => (await calls.call("rings.planned", device)) as RingPlan | null,
      sound: async (sha256, from) => (await calls.call("rings.sound", sha256, from)) as Uint8Array | null,
      playedAlone: (device, rings) => calls.call("rings.playedAlone", device, rings).then(() => {}),
      behind: (devices) => calls.call("rings.behind", devices).then(() => {}),
    },
    confirm: async (recipientId, option) => (await calls.call("confirm", recipientId, option)) as string | null,
    receive: async (message) => (await calls.call("receive", message)) as TextReply,
    trigger: (input) => calls.call("trigger", input).then(() => {}),
    devices: { report: (devices) => calls.call("devices.report", devices).then(() => {}) },
    listen: (name, handler) => openPort(name, handler, urls, parts),
    route: (path, handler) => void made.routes.set(path.replace(/^\/|\/$/g, ""), handler),
    state: {
      get: (key) => calls.call("state.get", key),
      set: (key, value) => calls.call("state.set", key, value).then(() => {}),
    },
    resources: {
      watch(path, handler) {
        if (!init.watches.includes(path)) throw new BugError(`plugin.json does not list ${path} in watches`);
        made.changeHandlers.push({ path, handler });
        send({ kind: "watch", path });
      },
      list: async (path) => (await calls.call("resources.list", path)) as Record<string, unknown>[],
    },
    fetch: (url, options = {}) => guardedFetch(url, options, { ssrfGuard, clock, signal }),
    resolveTarget: async (host) => (await ssrfGuard.resolveAllowed(host)).address,
    isTargetAllowed: ssrfGuard.isAllowed,
    every: (periodMs, handler) => void clock.every(periodMs, handler),
    onEvent(name, handler) {
      made.eventHandlers.push({ name, handler: handler as (payload: PluginEvents[keyof PluginEvents]) => void });
      send({ kind: "follow", name });
    },
    status: (state, reason) => send({ kind: "status", state, reason: reason ?? null }),
  };
}

async function openPort(
  name: string,
  handler: PluginRequestHandler,
  urls: Record<string, string>,
  { init, clock, signal, registrations: made, send, onError }: PluginContextParts,
): Promise<string> {
  const setting = init.ports[name];
  if (!setting) throw new BugError(`plugin.json does not list port ${name} in listens`);
  const port = await openPluginPort(name, setting, handler, { clock, onError });
  if (signal.aborted) {
    // The plugin stopped while the port was opening.
    await port.close();
    throw new UpstreamError("upstream", sentence("error.the-plugin-is-stopping"));
  }
  made.undo.push(() => port.close());
  const announce = (): void => {
    const { url } = port;
    if (urls[name] === url) return;
    urls[name] = url;
    send({ kind: "listening", name, url, port: port.port });
  };
  announce();
  made.eventHandlers.push({ name: "network.changed", handler: announce });
  send({ kind: "follow", name: "network.changed" });
  return port.url;
}
