import type { Clock } from "../lib/clock.ts";
import type { PluginRequest, PluginResponse } from "../plugin-api/index.ts";
import { createPendingRequests } from "./pending-requests.ts";
import { HANDLER_TIMEOUT_MS, MAX_BODY_BYTES } from "./plugin-port.ts";
import type { ToPlugin } from "./plugin-protocol.ts";

/** Requests under /x/<plugin> that wait for the plugin's answer. */
export interface RouteRequests {
  /** Always answers: 413 for a long body, 503 when the plugin ends meanwhile, 504 when it takes too long. */
  send(request: PluginRequest): Promise<PluginResponse>;
  resolve(id: number, response: PluginResponse): void;
  /** The plugin's run has ended. */
  resolveAllDropped(): void;
}

/** The plugin itself gives up after `HANDLER_MS`; this is for one that does not even do that. */
const GRACE_MS = 1_000;
/** Requests that may wait at once; more are refused. own choice */
const MAX_PENDING = 1_000;

/** Makes the waiting room of one plugin's requests. */
export function createRouteRequests(clock: Clock, send: (message: ToPlugin) => void): RouteRequests {
  const gone = { status: 503 };
  const rules = {
    timeoutMs: HANDLER_TIMEOUT_MS + GRACE_MS,
    maxPending: MAX_PENDING,
    timedOut: { status: 504 },
    dropped: gone,
    overloaded: gone,
  };
  const questions = createPendingRequests<PluginResponse>(clock, rules);
  return {
    send(request) {
      if (request.body.byteLength > MAX_BODY_BYTES) return Promise.resolve({ status: 413 });
      return questions.request((id) => send({ kind: "request", id, request }));
    },
    resolve: questions.resolve,
    resolveAllDropped: questions.resolveAllDropped,
  };
}
