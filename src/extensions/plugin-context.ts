import { createAddressPolicy } from "../base/address-policy.ts";
import { BugError, UpstreamError } from "../base/errors.ts";
import { policedFetch } from "../base/policed-fetch.ts";
import type { PluginContext, PluginEvents, PluginRequestHandler, RingPlan, TextReply } from "../plugin-api/index.ts";
import type { HostCalls } from "./host-calls.ts";
import type { OutcomeBatch } from "./outcome-batch.ts";
import { type OwnPortNeeds, openOwnPort } from "./own-port.ts";
import type { createPluginLog } from "./plugin-log.ts";
import type { Registrations } from "./registrations.ts";
import type { ScopedClock } from "./scoped-clock.ts";
import type { DoorInit, FromPlugin } from "./wire.ts";

/** What a plugin's context is made of. */
export interface ContextParts {
  init: DoorInit;
  /** Aborts when the plugin must stop. */
  signal: AbortSignal;
  clock: ScopedClock;
  log: ReturnType<typeof createPluginLog>;
  outcomes: OutcomeBatch;
  calls: HostCalls;
  /** Filled by what the plugin registers. */
  made: Registrations;
  send(message: FromPlugin): void;
  onError: OwnPortNeeds["onError"];
}

/** Makes what `activate` is given. */
export function makeContext(parts: ContextParts): PluginContext {
  const { init, signal, clock, log, outcomes, calls, made, send } = parts;
  const policy = createAddressPolicy({ allowedTargets: init.allowedTargets });
  const urls: Record<string, string> = {};
  return {
    config: init.config,
    log,
    signal,
    clock,
    urls,
    baseUrl: init.baseUrl,
    deliver(handler) {
      made.deliver = handler;
    },
    stop(handler) {
      made.stop = handler;
    },
    probe(handler) {
      made.probe = handler;
    },
    outcome(
      deliveryId,
      level,
      { reason, retryable, retryAfterMs, last, gone, afterwards, returned, started, askedAgain } = {},
    ) {
      const details = {
        ...(reason !== undefined && { reason }),
        ...(retryable !== undefined && { retryable }),
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        ...(last !== undefined && { last }),
        ...(started !== undefined && { started }),
        ...(askedAgain !== undefined && { askedAgain }),
        ...(afterwards !== undefined && { afterwards }),
        ...(gone !== undefined && { gone }),
        ...(returned !== undefined && { returned }),
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
    listen: (name, handler) => listen(name, handler, urls, parts),
    route: (path, handler) => void made.routes.set(path.replace(/^\/|\/$/g, ""), handler),
    state: {
      get: (key) => calls.call("state.get", key),
      set: (key, value) => calls.call("state.set", key, value).then(() => {}),
    },
    resources: {
      watch(path, handler) {
        if (!init.watches.includes(path)) throw new BugError(`plugin.json does not grant to watch ${path}`);
        made.watches.push({ path, handler });
        send({ kind: "watch", path });
      },
      list: async (path) => (await calls.call("resources.list", path)) as Record<string, unknown>[],
    },
    fetch: (url, options = {}) => policedFetch(url, options, { policy, clock, signal }),
    every: (periodMs, handler) => void clock.every(periodMs, handler),
    onEvent(name, handler) {
      made.follows.push({ name, handler: handler as (payload: PluginEvents[keyof PluginEvents]) => void });
      send({ kind: "follow", name });
    },
    status: (state, reason) => send({ kind: "status", state, reason: reason ?? null }),
  };
}

async function listen(
  name: string,
  handler: PluginRequestHandler,
  urls: Record<string, string>,
  { init, clock, signal, made, send, onError }: ContextParts,
): Promise<string> {
  const setting = init.ports[name];
  if (!setting) throw new BugError(`plugin.json does not name the port ${name}`);
  const port = await openOwnPort(name, setting, handler, { clock, onError });
  if (signal.aborted) {
    // Everything else was undone while the port was being opened.
    await port.close();
    throw new UpstreamError("upstream", "the plugin is being stopped");
  }
  made.undo.push(() => port.close());
  urls[name] = port.url;
  send({ kind: "listening", name, url: port.url, port: port.port });
  return port.url;
}
