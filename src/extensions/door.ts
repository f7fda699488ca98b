import type { Clock } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";
import type { DeliveryItem, PluginDefinition, PluginRequest, ProbeResult } from "../plugin-api/index.ts";
import { createHostCalls } from "./host-calls.ts";
import { createOutcomeBatch } from "./outcome-batch.ts";
import { handleInTime } from "./own-port.ts";
import { makeContext } from "./plugin-context.ts";
import { createPluginLog } from "./plugin-log.ts";
import { noRegistrations, routeFor } from "./registrations.ts";
import { scopeClock } from "./scoped-clock.ts";
import type { DoorInit, FromPlugin, Link, ToPlugin } from "./wire.ts";

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
  const made = noRegistrations();
  const send = (message: FromPlugin): void => link.send(message);
  const context = makeContext({ init, signal: stopping.signal, clock, log, outcomes, calls, made, send, onError });

  /** Undoes everything in reverse; what can't be undone is told and keeps nothing else open. */
  async function close(): Promise<void> {
    stopping.abort(new UpstreamError("upstream", "the plugin is being stopped"));
    for (const undo of made.undo.splice(0).reverse()) await guard(undo);
    Object.assign(made, noRegistrations());
    outcomes.flush();
    calls.close();
    clock.close();
  }

  /** Runs code of the plugin; what it throws, now or later, is a fault. */
  async function guard(run: () => unknown): Promise<void> {
    try {
      await run();
    } catch (error) {
      fault(error);
    }
  }

  function take(items: DeliveryItem[]): void {
    const { deliver } = made;
    if (deliver) void guard(() => deliver(items));
    else
      for (const { deliveryId } of items)
        context.outcome(deliveryId, "failed", { reason: "the plugin takes no deliveries" });
  }

  async function respond(id: number, request: PluginRequest): Promise<void> {
    const handler = routeFor(made.routes, request.url);
    const response = handler ? await handleInTime(request, handler, { clock, onError }) : { status: 404 };
    link.send({ kind: "response", id, response });
  }

  async function probe(id: number, device: DeliveryItem["device"]): Promise<void> {
    const result = await (made.probe?.(device) ?? NO_PROBE).catch((error: unknown) => {
      fault(error);
      return { proof: null, reason: wordsOf(error) };
    });
    link.send({ kind: "probed", id, result });
  }

  function receive(message: ToPlugin): void {
    switch (message.kind) {
      case "deliver":
        take(message.items);
        break;
      case "stop":
        void guard(() => made.stop?.(message.request));
        break;
      case "request":
        void guard(() => respond(message.id, message.request));
        break;
      case "probe":
        void guard(() => probe(message.id, message.device));
        break;
      case "reply":
        calls.reply(message.id, message.value);
        break;
      case "refusal":
        calls.refuse(message.id, message.message);
        break;
      case "change":
        for (const { path, handler } of made.watches)
          if (path === message.path) void guard(() => handler({ id: message.id, op: message.op }));
        break;
      case "event":
        for (const { name, handler } of made.follows)
          if (name === message.name) void guard(() => handler(message.payload));
        break;
      case "ping":
        link.send({ kind: "pong" });
        break;
      case "shutdown":
        void close().then(() => link.send({ kind: "stopped" }));
    }
  }
  link.receive(receive);

  return {
    async start(definition) {
      try {
        await definition.activate(context);
        link.send({ kind: "active" });
      } catch (error) {
        await close();
        fault(error);
      }
    },
  };
}

const NO_PROBE = Promise.resolve<ProbeResult>({ proof: "untested" });

function faultOf(error: unknown): FromPlugin {
  return { kind: "fault", message: wordsOf(error), stack: error instanceof Error ? (error.stack ?? "") : "" };
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
