import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { NetworkUnreachableError } from "../lib/network-route.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type {
  AccountMessage,
  DeliveryItem,
  DeviceFilterRequest,
  PluginDefinition,
  PluginReportRequest,
  PluginRequest,
  ProbeResult,
} from "../plugin-api/index.ts";
import { createOutcomeBatcher } from "./outcome-batch.ts";
import { createPluginContext } from "./plugin-context.ts";
import { createPluginLog } from "./plugin-log.ts";
import { handleWithTimeout } from "./plugin-port.ts";
import type { FromPlugin, PluginConnection, PluginInit, ToPlugin } from "./plugin-protocol.ts";
import { emptyRegistrations, findRoute } from "./registrations.ts";
import { createHostRpcClient } from "./rpc-client.ts";
import { createScopedClock } from "./scoped-clock.ts";

/** The plugin's side of the connection, the same in a worker thread and inline. */
export interface PluginRuntime {
  /** Runs `activate`; an exception is reported to the host after all registrations are undone. Never rejects. */
  start(definition: PluginDefinition): Promise<void>;
}

/** Creates the runtime over `link` and handles the host's messages from now on. */
export function createPluginRuntime(
  link: PluginConnection<FromPlugin, ToPlugin>,
  init: PluginInit,
  machineClock: Clock,
): PluginRuntime {
  const stopping = new AbortController();
  const reportFault = (error: unknown): void => link.send(faultMessage(error));
  const clock = createScopedClock(machineClock, reportFault);
  const log = createPluginLog(clock, (level, values, message) => link.send({ kind: "log", level, values, message }));
  const onError = (error: unknown): void =>
    log.error({ event: "plugin.request_failed", error: errorText(error) }, "request handler failed");
  const outcomes = createOutcomeBatcher(clock, (notes) => link.send({ kind: "outcomes", notes }));
  const calls = createHostRpcClient(clock, (id, method, args) => link.send({ kind: "call", id, method, args }));
  const registrations = emptyRegistrations();
  const send = (message: FromPlugin): void => link.send(message);
  const context = createPluginContext({
    init,
    signal: stopping.signal,
    clock,
    log,
    outcomes,
    calls,
    registrations,
    send,
    onError,
  });

  /** Undoes registrations in reverse order; errors are reported and do not stop the others. */
  async function shutDown(): Promise<void> {
    stopping.abort(new UpstreamError("upstream", sentence("error.the-plugin-is-stopping")));
    for (const undo of registrations.undo.splice(0).reverse()) await guard(undo);
    Object.assign(registrations, emptyRegistrations());
    outcomes.flush();
    calls.close();
    clock.close();
  }

  /** Runs plugin code; reports exceptions and rejections. */
  async function guard(run: () => unknown): Promise<void> {
    try {
      await run();
    } catch (error) {
      reportFault(error);
    }
  }

  function deliverItems(items: DeliveryItem[]): void {
    const { deliver } = registrations;
    if (deliver) void guard(() => deliver(items));
    else
      for (const { deliveryId } of items)
        context.outcome(deliveryId, "failed", { reason: sentence("delivery.plugin-takes-none") });
  }

  async function respond(id: number, request: PluginRequest): Promise<void> {
    const handler = findRoute(registrations.routes, request.url);
    const response = handler ? await handleWithTimeout(request, handler, { clock, onError }) : { status: 404 };
    link.send({ kind: "response", id, response });
  }

  async function probe(id: number, device: DeliveryItem["device"]): Promise<void> {
    const result = await (registrations.probe?.(device) ?? NO_PROBE).catch((error: unknown) => {
      reportFault(error);
      return { proof: null, reason: errorText(error) };
    });
    link.send({ kind: "probed", id, result });
  }

  async function filter(id: number, request: DeviceFilterRequest): Promise<void> {
    // A filter that is not set up leaves out nothing.
    const result = await (registrations.filter?.(request) ?? NO_FILTER).catch((error: unknown) => ({
      problem: errorText(error),
    }));
    link.send({ kind: "filtered", id, result });
  }

  async function sendAccountMessage(id: number, message: AccountMessage): Promise<void> {
    const problem = await (registrations.accountMessage?.(message) ?? Promise.resolve(NO_ACCOUNT_MESSAGE)).catch(
      errorText,
    );
    link.send({ kind: "account-message-sent", id, problem });
  }

  async function report(id: number, key: string, request: PluginReportRequest): Promise<void> {
    const handler = registrations.reports.get(key);
    try {
      const lines = (await handler?.(request)) ?? [];
      for (let at = 0; at < lines.length; at += REPORT_CHUNK_LINES)
        link.send({ kind: "report-lines", id, lines: lines.slice(at, at + REPORT_CHUNK_LINES) });
      link.send({ kind: "reported", id, problem: null });
    } catch (error) {
      link.send({ kind: "reported", id, problem: errorText(error) });
    }
  }

  function receive(message: ToPlugin): void {
    switch (message.kind) {
      case "deliver":
        deliverItems(message.items);
        break;
      case "stop":
        void guard(() => registrations.stop?.(message.request));
        break;
      case "request":
        void guard(() => respond(message.id, message.request));
        break;
      case "probe":
        void guard(() => probe(message.id, message.device));
        break;
      case "filter":
        void guard(() => filter(message.id, message.request));
        break;
      case "account-message":
        void guard(() => sendAccountMessage(message.id, message.message));
        break;
      case "report":
        void guard(() => report(message.id, message.key, message.request));
        break;
      case "reply":
        calls.resolve(message.id, message.value);
        break;
      case "refusal":
        calls.reject(
          message.id,
          message.noNetwork
            ? new NetworkUnreachableError(message.message)
            : new UpstreamError("upstream", message.message),
        );
        break;
      case "change":
        for (const { path, handler } of registrations.changeHandlers)
          if (path === message.path) void guard(() => handler({ id: message.id, op: message.op }));
        break;
      case "event":
        for (const { name, handler } of registrations.eventHandlers)
          if (name === message.name) void guard(() => handler(message.payload));
        break;
      case "phone-hang-up":
        void guard(() => registrations.hangUp?.(message.callId));
        break;
      case "ping":
        link.send({ kind: "pong" });
        break;
      case "shutdown":
        void shutDown().then(() => link.send({ kind: "stopped" }));
    }
  }
  link.receive(receive);

  return {
    async start(definition) {
      try {
        await definition.activate(context);
        link.send({ kind: "active" });
      } catch (error) {
        await shutDown();
        reportFault(error);
      }
    },
  };
}

const NO_ACCOUNT_MESSAGE = sentence("account-message.not-offered");
const NO_FILTER = Promise.resolve({ excluded: [] });
/** Few enough that the host reads a message in some ms. */
const REPORT_CHUNK_LINES = 200;
const NO_PROBE = Promise.resolve<ProbeResult>({ proof: "untested" });

function faultMessage(error: unknown): FromPlugin {
  return { kind: "fault", message: errorText(error), stack: error instanceof Error ? (error.stack ?? "") : "" };
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
