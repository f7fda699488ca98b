import { CallerError, type ErrorType, type FieldError, UpstreamError } from "../../../lib/errors.ts";
import type { SentenceOfApi } from "../i18n/translator.ts";
import { type RouteFor, type RouteParams, type RouteQuery, routeUrl } from "./routes.ts";

/** A page of a list. */
export interface RowPage<T> {
  total: number;
  next: string | null;
  data: T[];
}

/** A row and the version in which it was read; null if the API gives none. */
export interface VersionedRow<T> {
  row: T;
  version: string | null;
}

/** A row that uses another one: an emergency, an input, bells or something ordinary. */
export interface Dependent {
  /** Resource name. */
  type: string;
  id: string;
  /** Null if the user must not see it. */
  name: string | null;
  role: "emergency" | "input" | "bells" | "ordinary";
  /** Recipients that its message still has afterwards, if they are counted. */
  left?: { devices: number; users: number } | null;
}

/** What uses the row that could not be changed; null for other errors. */
export function dependentsOf(error: unknown): readonly Dependent[] | null {
  if (!(error instanceof CallerError) || error.type !== "in-use") return null;
  return (error.context.dependents ?? []) as Dependent[];
}

/** Dependencies of `createClient`. */
export interface ClientOptions {
  fetch(address: string, init: RequestInit): Promise<Response>;
  /** True if there was no user input for a while: background requests must not keep the session alive. */
  isUnattended(): boolean;
  /** The session has ended, or there was none; true once the same person has logged in again. */
  onLoggedOut(): Promise<boolean>;
  /** Emergencies or bells use what a change would empty or put out of use: carry it out nevertheless? */
  confirmDetach(dependents: readonly Dependent[]): Promise<boolean>;
  /** The API asks who is there before it carries out a change: false if the user does not say. */
  confirmIdentity?(): Promise<boolean>;
  /** Domain that every request acts in; the user's first one unless given. */
  domainId?: string | null;
}

/**
 * The console's only access to the API; each call throws CallerError (refused by the API) or UpstreamError (no
 * response).
 */
export interface ApiClient {
  get<T>(route: RouteFor<"get">, params?: RouteParams, query?: RouteQuery): Promise<T>;
  /** One row with its version, which a change of it may name. */
  getVersioned<T>(route: RouteFor<"get">, params?: RouteParams): Promise<VersionedRow<T>>;
  /** A file of the API. */
  bytes(route: RouteFor<"get">, params?: RouteParams, query?: RouteQuery): Promise<Blob>;
  post<T>(
    route: RouteFor<"post">,
    params: RouteParams,
    body: object,
    headers?: Record<string, string>,
    query?: RouteQuery,
  ): Promise<T>;
  /** With `version`, a row that has changed since is left as it is: see `isVersionConflict`. */
  put<T>(
    route: RouteFor<"put">,
    params: RouteParams,
    body: object,
    query?: RouteQuery,
    version?: string | null,
  ): Promise<T>;
  /** Sends a table or archive as it is, with its name. */
  putFile<T>(route: RouteFor<"put">, params: RouteParams, file: File): Promise<T>;
  /** `leaving`: the request outlives the page that made it. */
  remove(
    route: RouteFor<"delete">,
    params?: RouteParams,
    options?: { leaving?: boolean; query?: RouteQuery },
  ): Promise<void>;
  /** What would lose a row, by a dry run of its removal. Throws `in-use` for what emergencies need. */
  ordinaryUses(route: RouteFor<"delete">, params?: RouteParams): Promise<readonly Dependent[]>;
  /** Resolves to the kinds of second factors of which one is needed, with `completeLogIn`; null: logged in. */
  logIn(email: string, password: string, newPassword?: string): Promise<readonly string[] | null>;
  completeLogIn(proof: { code: string } | { passkey: object }): Promise<void>;
  /** Options for the browser to sign with a passkey: of anybody, or as the second factor after the password. */
  passkeyOptions<T>(after: "nothing" | "password"): Promise<T>;
  logInWithPasskey(passkey: object): Promise<void>;
  /** Has a link mailed that sets a new password, if there is such an account. */
  requestPasswordLink(email: string): Promise<void>;
  /** Sets a new password with the token of a mailed link. */
  resetPassword(token: string, password: string): Promise<void>;
  setup(): Promise<SetupState>;
  /** Where a browser goes to log in by an identity provider, and then to the path `to`. */
  doorTo(providerId: string, to: string): string;
  setUp(admin: SetupInput): Promise<void>;
  schemas(): Promise<FormSchemas>;
}

/** First-run and log-in state, readable without a session. */
export interface SetupState {
  /** There is no administrator yet. */
  needed: boolean;
  /** The browser holds a session. */
  loggedIn: boolean;
  /** Identity providers with log-in pages of their own. */
  doors: readonly { id: string; name: string }[];
  /** Passwords are taken of others than break-glass accounts, too. */
  takesPasswords: boolean;
  /** People may have other names than mail addresses. */
  takesLoginNames: boolean;
  /** A forgotten password can be replaced by mail. */
  mailsPasswordLinks: boolean;
  passwordMinLength: number;
  branding: Branding;
}

/** Branding of the organisation, with defaults filled in; colours are `#rrggbb`. */
export interface Branding {
  companyName: string | null;
  companyEmail: string | null;
  companyPhone: string | null;
  /** Its help pages. */
  customUrl: string | null;
  logoUrl: string | null;
  logoAltText: string;
  primaryColor: string;
  secondaryColor: string;
}

/** What the first run asks for. */
export interface SetupInput {
  code: string;
  name: string;
  email: string;
  password: string;
}

/** A JSON Schema, as far as forms are drawn from it. */
export interface JsonSchema {
  type?: string | readonly string[];
  title?: string;
  description?: string;
  enum?: readonly unknown[];
  format?: string;
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  readOnly?: boolean;
  writeOnly?: boolean;
  /** Code and parameters of the title. */
  "x-title-sentence"?: SentenceOfApi;
  /** Code and parameters of the description. */
  "x-description-sentence"?: SentenceOfApi;
  "x-presets"?: readonly { title: string; value: object }[];
}

/** JSON schemas that forms are built from. */
export interface FormSchemas {
  resources: Readonly<Record<string, { path: string; methods: readonly string[]; schema: JsonSchema }>>;
  /** By the extension's id. */
  extensions: Readonly<Record<string, JsonSchema>>;
  /** What notification profiles may say of an extension, by its id. */
  profiles: Readonly<Record<string, JsonSchema>>;
}

/**
 * A change of the own password replaces the session. Requests that it overtakes are refused, which does not mean that the user is
 * logged out: they are sent once more.
 */
function createSessionRenewal(): (send: () => Promise<Response>, renews: boolean) => Promise<Response> {
  let renewal: Promise<unknown> | null = null;
  /** Number of the last request that was sent before the session was replaced. */
  let lastOvertaken = 0;
  let requests = 0;
  return async (send, renews) => {
    // Nothing more is asked in the session that is about to end.
    if (renewal && !renews) await renewal;
    const number = ++requests;
    const sent = send();
    if (renews) {
      const ended = sent
        .catch(() => undefined)
        .finally(() => {
          lastOvertaken = requests;
          if (renewal === ended) renewal = null;
        });
      renewal = ended;
      return sent;
    }
    const response = await sent;
    if (response.status !== 401) return response;
    await renewal;
    return number <= lastOvertaken ? send() : response;
  };
}

/** Creates the client. The browser sends the session cookie; writes carry the console's CSRF header. */
export function createClient(options: ClientOptions): ApiClient {
  const { fetch, isUnattended, onLoggedOut, domainId = null } = options;
  const acting: Record<string, string> = domainId === null ? {} : { "x-service-domain": domainId };
  const withRenewedSession = createSessionRenewal();
  /** How often the session ended and somebody logged in again. */
  let logIns = 0;
  /** Sends a request that was refused for lack of a session once more, if the same person logs in again. */
  const isLoggedInAgain = async (sentAfter: number): Promise<boolean> => {
    // It overlapped with the log-in that another request asked for.
    if (sentAfter < logIns) return true;
    if (!(await onLoggedOut())) return false;
    if (sentAfter === logIns) logIns++;
    return true;
  };
  const ask = async (
    method: string,
    address: string,
    body?: object,
    headers: Record<string, string> = {},
    more: RequestInit = {},
    repeated: { readonly logIn?: boolean; readonly confirmation?: boolean } = {},
  ): Promise<Response> => {
    const isBounded = method === "GET" || (KEY in headers && !isSentAsItIs(body));
    const send = () =>
      fetch(address, {
        method,
        credentials: "same-origin",
        headers: { ...acting, ...marksOf(method, isUnattended()), ...typeOf(body), ...headers },
        ...(isBounded ? { signal: AbortSignal.timeout(ANSWER_MS) } : {}),
        ...more,
        ...(body === undefined ? {} : { body: isSentAsItIs(body) ? body : JSON.stringify(body) }),
      });
    const renews = method === "PUT" && address.endsWith("/password");
    const sentAfter = logIns;
    const response = await withRenewedSession(() => reach(send), renews);
    if (response.ok) return response;
    const isLoggedOut = response.status === 401 && address.startsWith("/api/v1/");
    if (isLoggedOut && !repeated.logIn && (await isLoggedInAgain(sentAfter)))
      return ask(method, address, body, headers, more, { ...repeated, logIn: true });
    const error = await errorKeyOf(response, rightFor(method, address));
    if (!needsConfirmation(error) || repeated.confirmation || !(await options.confirmIdentity?.())) throw error;
    return ask(method, address, body, headers, more, { ...repeated, confirmation: true });
  };
  const call = async (...given: Parameters<typeof ask>): Promise<unknown> => {
    const response = await ask(...given);
    return response.status === 204 ? null : reach(() => response.json());
  };
  return {
    get: <T>(...[route, params, query]: Parameters<ApiClient["get"]>) =>
      call("GET", routeUrl(route, params, query)) as Promise<T>,
    // A file may take longer than an answer.
    bytes: async (route, params, query) =>
      (await ask("GET", routeUrl(route, params, query), undefined, {}, { signal: null })).blob(),
    post: <T>(...[route, params, body, headers, query]: Parameters<ApiClient["post"]>) =>
      call("POST", routeUrl(route, params, query), body, headers) as Promise<T>,
    async getVersioned<T>(...[route, params]: Parameters<ApiClient["getVersioned"]>) {
      const response = await ask("GET", routeUrl(route, params));
      return { row: (await reach(() => response.json())) as T, version: response.headers.get("etag") };
    },
    async put<T>(...[route, params, body, query, version = null]: Parameters<ApiClient["put"]>) {
      const known = version === null ? {} : { "If-Match": version };
      const send = (more: RouteQuery = {}) => call("PUT", routeUrl(route, params, { ...query, ...more }), body, known);
      return (await send().catch(async (error: unknown) => {
        const dependents = dependentsOf(error);
        if (!dependents || !(await options.confirmDetach(dependents))) throw error;
        return send({ detach: true });
      })) as T;
    },
    putFile: <T>(...[route, params, file]: Parameters<ApiClient["putFile"]>) =>
      call("PUT", routeUrl(route, params), file, {
        "Content-Type": tableContentType(file.name),
        "X-File-Name": encodeURIComponent(file.name),
      }) as Promise<T>,
    remove: async (route, params, { leaving: keepalive = false, query } = {}) =>
      void (await call("DELETE", routeUrl(route, params, query), undefined, {}, { keepalive })),
    ordinaryUses: async (route, params) =>
      ((await call("DELETE", routeUrl(route, params, { dryRun: true }))) as { uses?: readonly Dependent[] }).uses ?? [],
    async logIn(email, password, newPassword) {
      const answer = (await call("POST", "/api/login", { email, password, newPassword })) as LogInAnswer | null;
      return answer?.secondFactors ?? null;
    },
    completeLogIn: async (proof) => void (await call("POST", "/api/login/second-factor", proof)),
    passkeyOptions: <T>(after: "nothing" | "password") =>
      call("POST", `/api/login${after === "password" ? "/second-factor" : ""}/passkey-options`, {}) as Promise<T>,
    logInWithPasskey: async (passkey) => void (await call("POST", "/api/login/passkey", { passkey })),
    requestPasswordLink: async (email) => void (await call("POST", "/api/login/forgotten-password", { email })),
    resetPassword: async (token, password) => void (await call("POST", "/api/login/password", { token, password })),
    doorTo: (providerId, to) => `/api/log-in/${providerId}?to=${encodeURIComponent(to)}`,
    setup: () => call("GET", "/api/setup") as Promise<SetupState>,
    setUp: async (admin) => void (await call("POST", "/api/setup", admin)),
    schemas: () => call("GET", "/api/schema") as Promise<FormSchemas>,
  };
}

/** Whether the user must confirm to be there before the request is carried out. */
function needsConfirmation(error: CallerError | UpstreamError): boolean {
  return error instanceof CallerError && error.faults.some(({ reason }) => reason?.code === "confirmation-required");
}

/** Whether a change was refused because the row is no longer the one that was read. Name conflicts name their field. */
export function isVersionConflict(error: unknown): boolean {
  return error instanceof CallerError && error.type === "conflict" && error.faults.every(({ field }) => field === null);
}

/** Header of a request that is executed once even if it is sent twice. */
const KEY = "Idempotency-Key";
/** Timeout of reads and of requests with an idempotency key, which can be retried safely. */
const ANSWER_MS = 60_000;

async function reach<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw new UpstreamError("upstream", "", {}, error);
  }
}

/** The right that a request needs, as grants name it: `get /users/*`. */
function rightFor(method: string, address: string): string {
  const path = (address.split("?")[0] ?? "").replace(/^\/api(\/v1)?/, "");
  return `${method.toLowerCase()} ${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "*")}`;
}

/** Whether a retry may succeed. */
export function isTransientError(error: unknown): boolean {
  return !(error instanceof CallerError) || ["upstream", "starting", "internal"].includes(error.type);
}

function marksOf(method: string, unattended: boolean): Record<string, string> {
  if (method !== "GET") return { "X-Carillon-Console": "1" };
  return unattended ? { "X-Carillon-Background": "1" } : {};
}

function typeOf(body: object | undefined): Record<string, string> {
  return body === undefined || isSentAsItIs(body) ? {} : { "Content-Type": "application/json" };
}

function isSentAsItIs(body: object | undefined): body is FormData | Blob {
  return body instanceof FormData || body instanceof Blob;
}

/** Content type of a table by its name: what browsers say of one depends on the programs of the machine. */
export function tableContentType(fileName: string): "text/csv" | "application/zip" | "text/tab-separated-values" {
  if (/\.csv$/i.test(fileName)) return "text/csv";
  return /\.zip$/i.test(fileName) ? "application/zip" : "text/tab-separated-values";
}

interface LogInAnswer {
  secondFactors: readonly string[];
}

interface ErrorBody {
  type: ErrorType;
  message: string;
  errors?: FieldError[];
  sentence?: SentenceOfApi;
  dependents?: Dependent[];
}

async function errorKeyOf(response: Response, right: string): Promise<CallerError | UpstreamError> {
  try {
    const body = (await response.json()) as ErrorBody;
    const { dependents, sentence } = body;
    const context = { right, ...(dependents && { dependents }), ...(sentence && { sentence }) };
    return new CallerError(body.type, body.message, body.errors ?? [], context);
  } catch (error) {
    if (response.status === 401) return new CallerError("unauthorized", "");
    if (response.status === 429) return new CallerError("too-many-requests", "");
    // A proxy's own page (502, 504) does not tell whether the appliance got the request.
    return new UpstreamError("upstream", "", {}, error);
  }
}
