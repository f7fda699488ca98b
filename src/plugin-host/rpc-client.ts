import type { Clock, Timer } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { HostMethod } from "./plugin-protocol.ts";

/** Timeout of a host call. @source docs/decisions/0018-plugin-api.md, Lifecycle */
const CALL_TIMEOUT_MS = 5_000;
const STOPPING_REASON = sentence("error.the-plugin-is-stopping");

/** A plugin's pending host calls. */
export interface HostRpcClient {
  /** Rejects with UpstreamError if the host refuses, as NetworkUnreachableError for want of a network, or does not answer within 5 s. */
  call(method: HostMethod, ...args: unknown[]): Promise<unknown>;
  resolve(id: number, value: unknown): void;
  reject(id: number, error: UpstreamError): void;
  /** Rejects pending and later calls. */
  close(): void;
}

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: UpstreamError): void;
  timer: Timer;
}

/** Creates the client; `send` transmits a call. */
export function createHostRpcClient(
  clock: Clock,
  send: (id: number, method: HostMethod, args: unknown[]) => void,
): HostRpcClient {
  const waiting = new Map<number, PendingCall>();
  let nextId = 1;
  let closed = false;
  const removePending = (id: number): PendingCall | undefined => {
    const entry = waiting.get(id);
    waiting.delete(id);
    entry?.timer.cancel();
    return entry;
  };
  const refuse = (id: number, error: UpstreamError): void => removePending(id)?.reject(error);
  const refuseWith = (id: number, message: string): void => refuse(id, new UpstreamError("upstream", message));
  return {
    call(method, ...args) {
      return new Promise((resolve, reject) => {
        if (closed) return reject(new UpstreamError("upstream", STOPPING_REASON));
        const id = nextId++;
        const timer = clock.after(CALL_TIMEOUT_MS, () =>
          refuseWith(id, sentence("error.method-no-answer-within-limit-s", { method, limit: CALL_TIMEOUT_MS / 1000 })),
        );
        waiting.set(id, { resolve, reject, timer });
        send(id, method, args);
      });
    },
    resolve: (id, value) => removePending(id)?.resolve(value),
    reject: refuse,
    close() {
      closed = true;
      for (const id of [...waiting.keys()]) refuseWith(id, STOPPING_REASON);
    },
  };
}
