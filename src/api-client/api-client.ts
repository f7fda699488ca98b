import { type Clock, sleep, systemClock } from "../lib/clock.ts";
import { CallerError, type ErrorType, UpstreamError } from "../lib/errors.ts";

/** JSON, or a form with files. */
export type ApiBody = Record<string, unknown> | FormData;

/** Calls the v1 API of one appliance as one user, like any external client. */
export interface ApiClient {
  /** `path` is relative to `/api/v1`. Throws CallerError if the appliance rejects the request, UpstreamError if it can't be reached. */
  get<T = Record<string, unknown>>(path: string): Promise<T>;
  post<T = Record<string, unknown>>(path: string, body: ApiBody): Promise<T>;
  /** Like `post`, with an Idempotency-Key: retried for a minute while responses are lost; executed once. */
  postIdempotent<T = Record<string, unknown>>(path: string, body: ApiBody): Promise<T>;
  put<T = Record<string, unknown>>(path: string, body: ApiBody): Promise<T>;
  /** Uploads bytes of any length to `path`; `fileName` must be percent-encoded. No timeout. */
  upload<T = Record<string, unknown>>(path: string, bytes: Blob, fileName: string): Promise<T>;
  download(path: string): Promise<Uint8Array>;
}

/** A page of a list. */
export interface ApiPage<T> {
  data: T[];
  next: string | null;
}

const TIMEOUT_MS = 30_000;
/** Long enough for a crashed daemon to restart. */
const RETRY_FOR_MS = 60_000;
const RETRY_INTERVAL_MS = 1_000;
const STARTING = 503;
const TLS_REQUIRED = 426;

/**
 * `url`: base URL of the daemon, with or without `/api` or `/api/v1`. If a daemon of this machine accepts TLS only, requests go there,
 * and its own certificate authority is trusted.
 */
export function createApiClient(url: string, token: string, clock = systemClock): ApiClient {
  let base = `${url.replace(/\/+$/, "").replace(/\/api(\/v1)?$/, "")}/api/v1`;
  const sendRequest = async (method: string, path: string, body?: ApiBody, key?: string): Promise<Response> => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (key !== undefined) headers["idempotency-key"] = key;
    if (body && !(body instanceof FormData)) headers["content-type"] = "application/json";
    const payload = body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) };
    // Redirects are not followed: the token must not go to another address.
    const init = { method, headers, redirect: "manual" } as const;
    const send = (): Promise<Response> =>
      fetch(`${base}${path}`, { ...init, ...payload, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const sendSecurely = async (): Promise<Response> => {
      const response = await send();
      const secure = response.status === TLS_REQUIRED ? await secureLocalUrl(base) : null;
      if (secure === null) return response;
      base = `${secure}/api/v1`;
      return send();
    };
    const retried = key === undefined ? sendSecurely() : retryUntilAnswered(sendSecurely, clock);
    return checkResponse(`${method} ${path}`, retried);
  };
  const checkResponse = async (call: string, request: Promise<Response>): Promise<Response> => {
    const response = await request.catch((error: unknown) => {
      throw new UpstreamError("upstream", unreachableText(base, error), { url: base }, error);
    });
    if (response.status === 308 || response.status === TLS_REQUIRED)
      throw new UpstreamError("upstream", await tlsRequiredText(url, response));
    if (!response.ok) throw await toError(response, call);
    return response;
  };
  const json = async <T>(method: string, path: string, body?: ApiBody, key?: string): Promise<T> =>
    (await sendRequest(method, path, body, key)).json() as Promise<T>;
  return {
    get: (path) => json("GET", path),
    post: (path, body) => json("POST", path, body),
    async postIdempotent(path, body) {
      // Most commands need no id, and node:crypto takes longer to load than the rest of this module.
      const { newId } = await import("../lib/ids.ts");
      return json("POST", path, body, newId());
    },
    put: (path, body) => json("PUT", path, body),
    async upload(path, bytes, fileName) {
      const headers = { authorization: `Bearer ${token}`, "content-type": bytes.type, "x-file-name": fileName };
      const sending = fetch(`${base}${path}`, { method: "PUT", headers, body: bytes });
      return (await checkResponse(`PUT ${path}`, sending)).json() as never;
    },
    download: async (path) => new Uint8Array(await (await sendRequest("GET", path)).arrayBuffer()),
  };
}

/**
 * Where a daemon of this machine serves TLS, once its authority is trusted; null for another machine, which could be anybody's.
 * Both come from the plain port, which only this machine reaches.
 */
async function secureLocalUrl(base: string): Promise<string | null> {
  const { protocol, hostname, origin } = new URL(base);
  if (protocol !== "http:" || !["127.0.0.1", "localhost", "[::1]"].includes(hostname)) return null;
  const init = { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) } as const;
  const location = (await fetch(origin, init)).headers.get("location");
  const authority = await fetch(`${origin}/carillon-authority.crt`, init);
  if (location === null || !authority.ok) return null;
  const { trustAuthority } = await import("../lib/trusted-authorities.ts");
  return trustAuthority(await authority.text()) ? new URL(location).origin : null;
}

/** Retries while the response may have been lost. Throws the first loss when the time is over. */
async function retryUntilAnswered(send: () => Promise<Response>, clock: Clock): Promise<Response> {
  const startedAt = clock.monotonicMs();
  for (let firstLoss: unknown = null; ; ) {
    try {
      const response = await send();
      // A daemon that crashed during the request responds 503 while it restarts.
      if (firstLoss === null || response.status !== STARTING) return response;
    } catch (error) {
      // The daemon was never reached, so nothing was executed.
      if (firstLoss === null && !isResponseLost(error)) throw error;
      firstLoss ??= error;
    }
    if (clock.monotonicMs() - startedAt > RETRY_FOR_MS) throw firstLoss;
    await sleep(clock, RETRY_INTERVAL_MS);
  }
}

/** Whether the request may have been executed although no response came. @source undici's codes */
function isResponseLost(error: unknown): boolean {
  const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
  return name === "TimeoutError" || /ECONNRESET|EPIPE|UND_ERR_(SOCKET|HEADERS|BODY)/.test(String(cause?.code));
}

/** Why the appliance can't be reached, and what to do next. @source Node's codes of X.509 errors */
function unreachableText(base: string, error: unknown): string {
  const code = String((error as { cause?: { code?: unknown } }).cause?.code);
  // Sending again could trigger a second alarm.
  if (isResponseLost(error))
    return `${base} did not respond; the request may have been executed. Check before you retry.`;
  const isUntrusted = /SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(code);
  if (!isUntrusted)
    return `${base} does not respond. Is the daemon running? For another address use --url or CARILLON_URL.`;
  return `The certificate of ${base} is signed by an unknown CA. Name the CA file, which \`carillon tls show\` prints: --ca DIR/tls/authority.crt`;
}

/** Read requests are redirected to the TLS address; write requests get an error that names its port. */
async function tlsRequiredText(url: string, response: Response): Promise<string> {
  const location = response.headers.get("location");
  const { message = "" } = location === null ? ((await response.json().catch(() => ({}))) as ErrorBody) : {};
  const next = location === null ? `${message} Use it` : `Use ${new URL(location).origin}`;
  return `${url} accepts TLS only. ${next} with --url or CARILLON_URL.`;
}

/** Body of an error response; `errors` has more detail about a field than `message`. */
interface ErrorBody {
  type?: ErrorType;
  message?: string;
  errors?: { message: string }[];
}

async function toError(response: Response, call: string): Promise<CallerError | UpstreamError> {
  const body = (await response.json().catch(() => ({}))) as ErrorBody;
  const detail = body.errors?.[0]?.message ?? body.message ?? response.statusText;
  const message = `${call}: ${response.status} ${detail}`;
  if (response.status >= 500 || body.type === undefined) return new UpstreamError("upstream", message);
  return new CallerError(body.type, message);
}

/** All rows of a list, page by page. */
export async function listAll<T>(api: ApiClient, path: string): Promise<T[]> {
  const rows: T[] = [];
  const joint = path.includes("?") ? "&" : "?";
  for (let start: string | null = ""; start !== null; ) {
    const page: ApiPage<T> = await api.get(
      `${path}${joint}limit=1000${start && `&start=${encodeURIComponent(start)}`}`,
    );
    rows.push(...page.data);
    start = page.next;
  }
  return rows;
}
