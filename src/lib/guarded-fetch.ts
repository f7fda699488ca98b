import { type ClientRequest, type IncomingMessage, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import type { LookupFunction } from "node:net";
import type { Clock } from "./clock.ts";
import { UpstreamError } from "./errors.ts";
import type { ResolvedAddress, SsrfGuard } from "./ssrf-guard.ts";

/** How long a call may take when the caller does not say. */
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 30_000;
/** Longest answer that is taken. */
const MAX_BYTES = 1_048_576;

/** What to send; GET without a body unless said otherwise. */
export interface FetchOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  timeoutMs?: number;
}

/** What came back, whatever its status; a redirect is not followed. Repeated headers are joined by a comma. */
export interface FetchResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** What single outgoing calls need. */
export interface GuardedFetchDeps {
  ssrfGuard: SsrfGuard;
  clock: Clock;
  /** Cuts off calls under way. */
  signal: AbortSignal;
  /** Connections to use again; each call has one of its own unless given. */
  connections?: ConnectionPool;
}

/** Connections that stay open between calls, one idle one per target. */
export interface ConnectionPool {
  agentFor(target: URL): PlainAgent;
  close(): void;
}

/** Makes a set of connections, without any as yet. */
export function createConnectionPool(): ConnectionPool {
  const options = { keepAlive: true, maxFreeSockets: 1 };
  const [plain, secure] = [new PlainAgent(options), new SecureAgent(options)];
  return {
    agentFor: ({ protocol }) => (protocol === "https:" ? secure : plain),
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}

/** Makes one HTTP call to a place named by a user. Throws UpstreamError; its words hold the host, never the whole URL. */
export async function guardedFetch(
  url: string,
  options: FetchOptions,
  needs: GuardedFetchDeps,
): Promise<FetchResponse> {
  const target = URL.canParse(url) ? new URL(url) : null;
  if (!target || !/^https?:$/.test(target.protocol))
    throw new UpstreamError("upstream", "This is no http or https URL.");
  const address = await needs.ssrfGuard.resolveAllowed(target.hostname);
  if (needs.signal.aborted) throw new UpstreamError("upstream", `${target.host}: called off`, { host: target.host });
  return new Promise((resolve, reject) => {
    const timeoutMs = Math.min(options.timeoutMs ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
    let call = open(target, address, options, needs.connections);
    const fail = (words: string, cause?: unknown): void => {
      settle();
      call.destroy();
      reject(new UpstreamError("upstream", `${target.host}: ${words}`, { host: target.host }, cause));
    };
    const timer = needs.clock.after(timeoutMs, () => fail(`no answer within ${timeoutMs / 1000} s`));
    const onAbort = (): void => fail("called off");
    const settle = (): void => {
      timer.cancel();
      needs.signal.removeEventListener("abort", onAbort);
    };
    needs.signal.addEventListener("abort", onAbort, { once: true });
    const send = (): void => {
      call.on("error", (error: NodeJS.ErrnoException) => {
        // The other side had closed the idle connection before it heard of the call.
        if (!call.reusedSocket || error.code !== "ECONNRESET") return fail(error.message, error);
        call = open(target, address, options);
        send();
      });
      call.on("response", (response) => {
        readResponse(response).then(
          (fetched) => {
            settle();
            resolve(fetched);
          },
          (error: Error) => fail(error.message, error),
        );
      });
      call.end(options.body);
    };
    send();
  });
}

function open(
  target: URL,
  { address, family }: ResolvedAddress,
  options: FetchOptions,
  connections?: ConnectionPool,
): ClientRequest {
  // The name was resolved and judged; a second look-up could lead elsewhere.
  const lookup: LookupFunction = (_host, { all }, done) =>
    all ? done(null, [{ address, family }]) : done(null, address, family);
  const agent = connections?.agentFor(target) ?? false;
  const send = target.protocol === "https:" ? secureRequest : plainRequest;
  return send(target, { method: options.method ?? "GET", headers: options.headers ?? {}, agent, lookup });
}

function readResponse(response: IncomingMessage): Promise<FetchResponse> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    response.on("data", (part: Buffer) => {
      parts.push(part);
      length += part.length;
      if (length > MAX_BYTES) reject(new UpstreamError("upstream", `the answer is longer than ${MAX_BYTES} bytes`));
    });
    response.on("error", reject);
    response.on("end", () => {
      const headers = Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(", ")]),
      );
      resolve({ status: response.statusCode ?? 0, headers, body: Buffer.concat(parts).toString("utf8") });
    });
  });
}
