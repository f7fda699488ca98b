import type { Clock, Timer } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";
import type { HostMethod } from "./wire.ts";

/** How long a plugin waits for the host. @source reliability.md 6 */
const DEADLINE_MS = 5_000;
const STOPPED = "the plugin is being stopped";

/** The calls of a plugin that wait for the host's answer. */
export interface HostCalls {
  /** Rejects with UpstreamError when the host refuses or does not answer within 5 s. */
  call(method: HostMethod, ...args: unknown[]): Promise<unknown>;
  reply(id: number, value: unknown): void;
  refuse(id: number, message: string): void;
  /** Rejects everything that still waits or comes later. */
  close(): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: UpstreamError): void;
  timer: Timer;
}

/** Makes the plugin's side of the calls; `send` puts one on the wire. */
export function createHostCalls(
  clock: Clock,
  send: (id: number, method: HostMethod, args: unknown[]) => void,
): HostCalls {
  const waiting = new Map<number, Waiting>();
  let nextId = 1;
  let closed = false;
  const take = (id: number): Waiting | undefined => {
    const entry = waiting.get(id);
    waiting.delete(id);
    entry?.timer.cancel();
    return entry;
  };
  const refuse = (id: number, message: string): void => take(id)?.reject(new UpstreamError("upstream", message));
  return {
    call(method, ...args) {
      return new Promise((resolve, reject) => {
        if (closed) return reject(new UpstreamError("upstream", STOPPED));
        const id = nextId++;
        const timer = clock.after(DEADLINE_MS, () => refuse(id, `${method}: no answer within ${DEADLINE_MS / 1000} s`));
        waiting.set(id, { resolve, reject, timer });
        send(id, method, args);
      });
    },
    reply: (id, value) => take(id)?.resolve(value),
    refuse,
    close() {
      closed = true;
      for (const id of [...waiting.keys()]) refuse(id, STOPPED);
    },
  };
}
