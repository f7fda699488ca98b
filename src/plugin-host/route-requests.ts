import type { Clock } from "../lib/clock.ts";
import type { PluginRequest, PluginResponse } from "../plugin-api/index.ts";
import { createPendingRequests } from "./pending-requests.ts";
import { HANDLER_TIMEOUT_MS, MAX_BODY_BYTES } from "./plugin-port.ts";
import type { ToPlugin } from "./plugin-protocol.ts";

/** Requests below /x/<plugin> that wait for the plugin's response. */
export interface RouteRequests {
  /** Always resolves: 413 for a long body, 503 if the plugin ends or too many requests wait, 504 on timeout. */
  send(request: PluginRequest): Promise<PluginResponse>;
  resolve(id: number, response: PluginResponse): void;
  /** The plugin stopped or crashed. */
  resolveAllDropped(): void;
}

/** The plugin times out after `HANDLER_TIMEOUT_MS`; this catches plugins that fail to. */
const GRACE_MS = 1_000;
/** Maximum number of waiting requests; more are refused. */
const MAX_PENDING = 1_000;

export function createRouteRequests(clock: Clock, send: (message: ToPlugin) => void): RouteRequests {
  const unavailable = { status: 503 };
  const limits = {
    timeoutMs: HANDLER_TIMEOUT_MS + GRACE_MS,
    maxPending: MAX_PENDING,
    timedOut: { status: 504 },
    dropped: unavailable,
    overloaded: unavailable,
  };
  const pending = createPendingRequests<PluginResponse>(clock, limits);
  return {
    send(request) {
      if (request.body.byteLength > MAX_BODY_BYTES) return Promise.resolve({ status: 413 });
      return pending.request((id) => send({ kind: "request", id, request }));
    },
    resolve: pending.resolve,
    resolveAllDropped: pending.resolveAllDropped,
  };
}
