import { type ClientRequest, type IncomingMessage, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import type { LookupFunction } from "node:net";
import type { Clock } from "./clock.ts";
import { UpstreamError } from "./errors.ts";
import { sentence } from "./sentences/sentences.ts";
import type { ResolvedAddress, SsrfGuard } from "./ssrf-guard.ts";

/** Timeout of a call that does not set one. */
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 30_000;
/** Maximum size of a response body of a call that does not set one, and of any. */
const DEFAULT_MAX_BYTES = 1_048_576;
const MAX_BYTES = 64 * 1_048_576;
/** A body that is not wanted is read up to this size, so that the connection can be used again. */
const MAX_DISCARDED_BYTES = 65_536;
const MAX_DISCARD_MS = 5_000;

/** Request options; GET without a body by default. */
export interface FetchOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  timeoutMs?: number;
  /** Resolves with the status and headers, and an empty body: a long or slow body is no failure then. */
  discardBody?: boolean;
  /** Certificate authorities (PEM) to trust instead of the well-known ones. */
  ca?: string;
  /** Maximum size of the response's body. */
  maxBytes?: number;
  /** Returns the body as `bytes` as well, for a caller that knows its encoding. */
  binary?: boolean;
}

/** The response, whatever its status; redirects are not followed. Repeated headers are joined by a comma. */
export interface FetchResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Of a call with `binary`; then `body` is empty. */
  bytes?: Uint8Array;
}

export interface GuardedFetchDeps {
  ssrfGuard: SsrfGuard;
  clock: Clock;
  /** Aborts calls in progress. */
  signal: AbortSignal;
  /** Pool of connections to reuse; without it each call opens its own. */
  connections?: ConnectionPool;
}

/** Keeps connections open between calls, at most `maxIdle` per target. */
export interface ConnectionPool {
  agentFor(target: URL): PlainAgent;
  close(): void;
}

export function createConnectionPool(maxIdle: number): ConnectionPool {
  const options = { keepAlive: true, maxFreeSockets: maxIdle };
  const [plain, secure] = [new PlainAgent(options), new SecureAgent(options)];
  return {
    agentFor: ({ protocol }) => (protocol === "https:" ? secure : plain),
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}

/**
 * Makes one HTTP call to a target named by a user. Throws UpstreamError; its message holds the host, never the whole
 * URL.
 */
export async function guardedFetch(url: string, options: FetchOptions, deps: GuardedFetchDeps): Promise<FetchResponse> {
  const target = URL.canParse(url) ? new URL(url) : null;
  if (!target || !/^https?:$/.test(target.protocol)) throw new UpstreamError("upstream", sentence("fetch.scheme"));
  const address = await deps.ssrfGuard.resolveAllowed(target.hostname);
  if (deps.signal.aborted) throw new UpstreamError("upstream", `${target.host}: aborted`, { host: target.host });
  return new Promise((resolve, reject) => {
    const timeoutMs = Math.min(options.timeoutMs ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
    let call = open(target, address, options, deps.connections);
    const fail = (problem: string, cause?: unknown): void => {
      settle();
      call.destroy();
      reject(new UpstreamError("upstream", `${target.host}: ${problem}`, { host: target.host }, cause));
    };
    const timer = deps.clock.after(timeoutMs, () => fail(sentence("fetch.timeout", { seconds: timeoutMs / 1000 })));
    const onAbort = (): void => fail("aborted");
    const settle = (): void => {
      timer.cancel();
      deps.signal.removeEventListener("abort", onAbort);
    };
    deps.signal.addEventListener("abort", onAbort, { once: true });
    const send = (): void => {
      call.on("error", (error: NodeJS.ErrnoException) => {
        // The server closed the idle connection before the call reached it: retry on a new one.
        if (!call.reusedSocket || error.code !== "ECONNRESET") return fail(error.message, error);
        call = open(target, address, options);
        send();
      });
      call.on("response", (response) => {
        if (options.discardBody) discard(response, deps.clock);
        const read = options.discardBody ? Promise.resolve(headOf(response)) : readResponse(response, options);
        read.then(
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
  // Pins the address that was resolved and checked; a second look-up could return another one (DNS rebinding).
  const lookup: LookupFunction = (_host, { all }, done) =>
    all ? done(null, [{ address, family }]) : done(null, address, family);
  const agent = connections?.agentFor(target) ?? false;
  const send = target.protocol === "https:" ? secureRequest : plainRequest;
  const { method = "GET", headers = {}, ca } = options;
  return send(target, { method, headers, agent, lookup, ...(ca === undefined ? {} : { ca }) });
}

function headOf({ statusCode, headers }: IncomingMessage): FetchResponse {
  const joined = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(", ")]);
  return { status: statusCode ?? 0, headers: Object.fromEntries(joined), body: "" };
}

/** Reads the rest of a response if it is short, otherwise closes its connection. */
function discard(response: IncomingMessage, clock: Clock): void {
  const timer = clock.after(MAX_DISCARD_MS, () => response.destroy(), { background: true });
  let length = 0;
  response.on("data", (part: Buffer) => {
    length += part.length;
    if (length > MAX_DISCARDED_BYTES) response.destroy();
  });
  response.on("error", () => undefined);
  response.on("close", () => timer.cancel());
}

function readResponse(
  response: IncomingMessage,
  { maxBytes = DEFAULT_MAX_BYTES, binary = false }: FetchOptions,
): Promise<FetchResponse> {
  const most = Math.min(maxBytes, MAX_BYTES);
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    response.on("data", (part: Buffer) => {
      parts.push(part);
      length += part.length;
      if (length > most) reject(new UpstreamError("upstream", sentence("fetch.too-long", { bytes: most })));
    });
    response.on("error", reject);
    response.on("end", () => {
      const bytes = Buffer.concat(parts);
      resolve({ ...headOf(response), ...(binary ? { bytes } : { body: bytes.toString("utf8") }) });
    });
  });
}
