import { type Clock, sleep, systemClock } from "../lib/clock.ts";
import { CallerError, type ErrorType, UpstreamError } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";

/** What can be sent: JSON, or a form with files. */
export type ApiBody = Record<string, unknown> | FormData;

/** Calls the v1 API of one appliance as one user, as any client from outside does. */
export interface ApiClient {
  /** `path` begins behind `/api/v1`. Throws CallerError for what the appliance refuses, UpstreamError when it can't be reached. */
  get<T = Record<string, unknown>>(path: string): Promise<T>;
  post<T = Record<string, unknown>>(path: string, body: ApiBody): Promise<T>;
  /** The same, asked again for a minute where no answer comes; it is done once all the same. */
  postIdempotent<T = Record<string, unknown>>(path: string, body: ApiBody): Promise<T>;
  put<T = Record<string, unknown>>(path: string, body: ApiBody): Promise<T>;
  /** Puts bytes of any length at `path`; `fileName` goes along, percent-encoded. There is no limit on the time it takes. */
  upload<T = Record<string, unknown>>(path: string, bytes: Blob, fileName: string): Promise<T>;
  /** The bytes at `path`. */
  download(path: string): Promise<Uint8Array>;
}

/** A page of a list. */
export interface ApiPage<T> {
  data: T[];
  next: string | null;
}

const TIMEOUT_MS = 30_000;
/** A daemon that died is there again by then. own choice */
const RETRY_FOR_MS = 60_000;
const RETRY_INTERVAL_MS = 1_000;
const STARTING = 503;

/** Makes a client. `url` is the daemon's, with or without `/api` or `/api/v1` at its end. */
export function createApiClient(url: string, token: string, clock = systemClock): ApiClient {
  const base = `${url.replace(/\/+$/, "").replace(/\/api(\/v1)?$/, "")}/api/v1`;
  const sendRequest = async (method: string, path: string, body?: ApiBody, key?: string): Promise<Response> => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (key !== undefined) headers["idempotency-key"] = key;
    if (body && !(body instanceof FormData)) headers["content-type"] = "application/json";
    const payload = body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) };
    // Who follows to another address leaves the token behind.
    const how = { method, headers, redirect: "manual" } as const;
    const ask = (): Promise<Response> =>
      fetch(`${base}${path}`, { ...how, ...payload, signal: AbortSignal.timeout(TIMEOUT_MS) });
    return checkResponse(`${method} ${path}`, key === undefined ? ask() : retryUntilAnswered(ask, clock));
  };
  const checkResponse = async (call: string, request: Promise<Response>): Promise<Response> => {
    const response = await request.catch((error: unknown) => {
      throw new UpstreamError("upstream", unreachableText(base, error), { url: base }, error);
    });
    if (response.status === 308 || response.status === 426)
      throw new UpstreamError("upstream", await tlsRequiredText(url, response));
    if (!response.ok) throw await toError(response, call);
    return response;
  };
  const json = async <T>(method: string, path: string, body?: ApiBody, key?: string): Promise<T> =>
    (await sendRequest(method, path, body, key)).json() as Promise<T>;
  return {
    get: (path) => json("GET", path),
    post: (path, body) => json("POST", path, body),
    postIdempotent: (path, body) => json("POST", path, body, newId()),
    put: (path, body) => json("PUT", path, body),
    async upload(path, bytes, fileName) {
      const headers = { authorization: `Bearer ${token}`, "content-type": bytes.type, "x-file-name": fileName };
      const sent = fetch(`${base}${path}`, { method: "PUT", headers, body: bytes });
      return (await checkResponse(`PUT ${path}`, sent)).json() as never;
    },
    download: async (path) => new Uint8Array(await (await sendRequest("GET", path)).arrayBuffer()),
  };
}

/** Asks again as long as the answer may have been lost. Throws what the first loss threw once the time is over. */
async function retryUntilAnswered(ask: () => Promise<Response>, clock: Clock): Promise<Response> {
  const began = clock.monotonicMs();
  for (let lost: unknown = null; ; ) {
    try {
      const answer = await ask();
      // Who died over it says so while it starts again.
      if (lost === null || answer.status !== STARTING) return answer;
    } catch (error) {
      // Who was never reached has done nothing.
      if (lost === null && !isResponseLost(error)) throw error;
      lost ??= error;
    }
    if (clock.monotonicMs() - began > RETRY_FOR_MS) throw lost;
    await sleep(clock, RETRY_INTERVAL_MS);
  }
}

/** Whether a request may have come through although no answer did. @source undici's codes */
function isResponseLost(error: unknown): boolean {
  const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
  return name === "TimeoutError" || /ECONNRESET|EPIPE|UND_ERR_(SOCKET|HEADERS|BODY)/.test(String(cause?.code));
}

/** Why nothing came from an appliance, and what to do next. @source Node's codes of X.509 errors */
function unreachableText(base: string, error: unknown): string {
  const code = String((error as { cause?: { code?: unknown } }).cause?.code);
  // Whoever asks a second time may sound a second alarm.
  if (isResponseLost(error))
    return `${base} gave no answer: what was asked of it may be done all the same. Look before you ask again.`;
  const isStranger = /SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(code);
  if (!isStranger) return `${base} does not answer. Is the daemon running? Another address: --url or CARILLON_URL.`;
  const file = "NODE_EXTRA_CA_CERTS=DIR/tls/authority.crt";
  return `The authority of ${base}'s certificate is not known here. Name its file, which carillon tls show tells: ${file}`;
}

/** Readers are sent to the other address; writers are told its port. */
async function tlsRequiredText(url: string, response: Response): Promise<string> {
  const location = response.headers.get("location");
  const { message = "" } = location === null ? ((await response.json().catch(() => ({}))) as ErrorBody) : {};
  const next = location === null ? `${message} Name it` : `Name ${new URL(location).origin}`;
  return `${url} speaks TLS alone. ${next} by --url or CARILLON_URL.`;
}

/** The body of a refusal; `errors` says more of a faulty field than `message` does. */
interface ErrorBody {
  type?: ErrorType;
  message?: string;
  errors?: { message: string }[];
}

async function toError(response: Response, call: string): Promise<CallerError | UpstreamError> {
  const body = (await response.json().catch(() => ({}))) as ErrorBody;
  const words = body.errors?.[0]?.message ?? body.message ?? response.statusText;
  const message = `${call}: ${response.status} ${words}`;
  if (response.status >= 500 || body.type === undefined) return new UpstreamError("upstream", message);
  return new CallerError(body.type, message);
}

/** Every row of a list, page after page. */
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
