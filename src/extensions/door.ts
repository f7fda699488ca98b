import type { Clock } from "../base/clock.ts";
import { BugError, UpstreamError } from "../base/errors.ts";
import type {
  DeliveryItem,
  PluginContext,
  PluginDefinition,
  PluginEvents,
  PluginRequest,
  PluginRequestHandler,
  StopRequest,
} from "../plugin-api/index.ts";
import { createAddressPolicy } from "./address-policy.ts";
import { createHostCalls } from "./host-calls.ts";
import { createOutcomeBatch } from "./outcome-batch.ts";
import { handleInTime, openOwnPort } from "./own-port.ts";
import { createPluginLog } from "./plugin-log.ts";
import { policedFetch } from "./policed-fetch.ts";
import { scopeClock } from "./scoped-clock.ts";
import type { DoorInit, FromPlugin, Link, ToPlugin } from "./wire.ts";

type ChangeHandler = Parameters<PluginContext["resources"]["watch"]>[1];
type EventHandler = (payload: PluginEvents[keyof PluginEvents]) => void;

/** What a plugin has registered at its door. */
interface Registrations {
  deliver: ((batch: DeliveryItem[]) => void) | null;
  stop: ((request: StopRequest) => void) | null;
  routes: Map<string, PluginRequestHandler>;
  watches: { path: string; handler: ChangeHandler }[];
  follows: { name: keyof PluginEvents; handler: EventHandler }[];
  /** How to undo the above, oldest first. */
  undo: (() => Promise<void> | void)[];
}

/** The plugin's side of the door, the same in a worker thread and inline. */
export interface Door {
  /** Runs `activate`; what it throws reaches the host as a fault, after everything was undone. Never rejects. */
  start(definition: PluginDefinition): Promise<void>;
}

/** Opens the door over `link`. It answers the host's messages from now on. */
export function openDoor(link: Link<FromPlugin, ToPlugin>, init: DoorInit, machineClock: Clock): Door {
  const stopping = new AbortController();
  const fault = (error: unknown): void => link.send(faultOf(error));
  const clock = scopeClock(machineClock, fault);
  const log = createPluginLog(clock, (level, values, message) => link.send({ kind: "log", level, values, message }));
  const onError = (error: unknown): void => log.error({ error: wordsOf(error) }, "a request could not be answered");
  const outcomes = createOutcomeBatch(clock, (notes) => link.send({ kind: "outcomes", notes }));
  const calls = createHostCalls(clock, (id, method, args) => link.send({ kind: "call", id, method, args }));
  const policy = createAddressPolicy({ allowedTargets: init.allowedTargets });
  const made: Registrations = { deliver: null, stop: null, routes: new Map(), watches: [], follows: [], undo: [] };
  const urls: Record<string, string> = {};

  const context: PluginContext = {
    config: init.config,
    log,
    signal: stopping.signal,
    clock,
    urls,
    deliver: (handler) => void (made.deliver = handler),
    stop: (handler) => void (made.stop = handler),
    outcome(deliveryId, level, { reason, retryable } = {}) {
      const details = { ...(reason !== undefined && { reason }), ...(retryable !== undefined && { retryable }) };
      outcomes.add({ deliveryId, level, details, at: clock.now() });
    },
    stream: { open: (target, notificationId) => calls.call("stream.open", target, notificationId).then(() => {}) },
    confirm: (recipientId, option) => calls.call("confirm", recipientId, option).then(() => {}),
    trigger: (input) => calls.call("trigger", input).then(() => {}),
    devices: { report: (devices) => calls.call("devices.report", devices).then(() => {}) },
    async listen(name, handler) {
      const setting = init.ports[name];
      if (!setting) throw new BugError(`plugin.json does not name the port ${name}`);
      const port = await openOwnPort(name, setting, handler, { clock, onError });
      made.undo.push(() => port.close());
      urls[name] = port.url;
      link.send({ kind: "listening", name, url: port.url, port: port.port });
      return port.url;
    },
    route: (path, handler) => void made.routes.set(path.replace(/^\/|\/$/g, ""), handler),
    state: {
      get: (key) => calls.call("state.get", key),
      set: (key, value) => calls.call("state.set", key, value).then(() => {}),
    },
    resources: {
      watch(path, handler) {
        if (!init.watches.includes(path)) throw new BugError(`plugin.json does not grant to watch ${path}`);
        made.watches.push({ path, handler });
        link.send({ kind: "watch", path });
      },
    },
    fetch: (url, options = {}) => policedFetch(url, options, { policy, clock, signal: stopping.signal }),
    every: (periodMs, handler) => void clock.every(periodMs, handler),
    onEvent(name, handler) {
      made.follows.push({ name, handler: handler as EventHandler });
      link.send({ kind: "follow", name });
    },
    status: (state, reason) => link.send({ kind: "status", state, reason: reason ?? null }),
  };

  const close = async (): Promise<void> => {
    stopping.abort(new UpstreamError("upstream", "the plugin is being stopped"));
    for (const undo of made.undo.splice(0).reverse()) await undo();
    Object.assign(made, { deliver: null, stop: null, routes: new Map(), watches: [], follows: [] });
    outcomes.flush();
    calls.close();
    clock.close();
  };

  link.receive((message) => {
    try {
      receive(message);
    } catch (error) {
      fault(error);
    }
  });

  function receive(message: ToPlugin): void {
    switch (message.kind) {
      case "deliver":
        return take(message.items);
      case "stop":
        return made.stop?.(message.request);
      case "request":
        return void respond(message.id, message.request);
      case "reply":
        return calls.reply(message.id, message.value);
      case "refusal":
        return calls.refuse(message.id, message.message);
      case "change":
        for (const { path, handler } of made.watches) {
          if (path === message.path) handler({ id: message.id, op: message.op });
        }
        return;
      case "event":
        for (const { name, handler } of made.follows) if (name === message.name) handler(message.payload);
        return;
      case "ping":
        return link.send({ kind: "pong" });
      case "shutdown":
        return void close().then(() => link.send({ kind: "stopped" }), fault);
    }
  }

  function take(items: DeliveryItem[]): void {
    if (made.deliver) return made.deliver(items);
    for (const item of items) context.outcome(item.deliveryId, "failed", { reason: "the plugin takes no deliveries" });
  }

  async function respond(id: number, request: PluginRequest): Promise<void> {
    const handler = routeFor(made.routes, request.url);
    const response = handler ? await handleInTime(request, handler, { clock, onError }) : { status: 404 };
    link.send({ kind: "response", id, response });
  }

  return {
    async start(definition) {
      try {
        await definition.activate(context);
        link.send({ kind: "active" });
      } catch (error) {
        await close().catch(onError);
        fault(error);
      }
    },
  };
}

/** The handler of the longest path that the request's path is or lies below. */
function routeFor(routes: ReadonlyMap<string, PluginRequestHandler>, url: string): PluginRequestHandler | null {
  const path = (url.split("?", 1)[0] ?? "").replace(/^\//, "");
  let best: string | null = null;
  for (const route of routes.keys()) {
    const fits = path === route || route === "" || path.startsWith(`${route}/`);
    if (fits && (best === null || route.length > best.length)) best = route;
  }
  return best === null ? null : (routes.get(best) ?? null);
}

function faultOf(error: unknown): FromPlugin {
  return { kind: "fault", message: wordsOf(error), stack: error instanceof Error ? (error.stack ?? "") : "" };
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
