import type http from "node:http";
import Koa, { type Middleware, type Next, type ParameterizedContext } from "koa";
import { createAuditSummary } from "../auth/audit-summary.ts";
import { createBasicAuthentication } from "../auth/basic-authentication.ts";
import { createHostCheck, type HostCheck } from "../auth/host-check.ts";
import { notFound } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { newId } from "../lib/ids.ts";
import { createDeniedRequestLog } from "../permissions/denied-request-log.ts";
import { SCIM_BASE_PATH } from "../scim/server.ts";
import { type Admission, createAdmission } from "./admission.ts";
import { drainRequest } from "./body/drain-request.ts";
import { createClientIdentifier } from "./client-identity.ts";
import { type ConsoleAssets, createConsoleAssets } from "./console-assets.ts";
import { withCorsHeaders } from "./cors.ts";
import type { ApiDeps } from "./dependencies.ts";
import { createEndpoint, type Endpoint } from "./endpoint.ts";
import { errorResponseOf, isBug, MethodNotAllowedError } from "./error-response.ts";
import { clientAddress, createForwardedClientReader } from "./forwarded-client.ts";
import { createHandbook, type Handbook, handbookFolder, isHandbookPath } from "./handbook.ts";
import { assertOwnHost } from "./host-header.ts";
import { createIdempotency } from "./idempotency.ts";
import {
  API_PREFIX,
  applyMethodOverride,
  type RequestState,
  readIncomingRequest,
  splitTarget,
} from "./incoming-request.ts";
import { inOlderForm, type OlderAddress, translateRequest } from "./older-addresses.ts";
import { onPremisesEndpoints } from "./on-premises-paths.ts";
import { routeToPlugin } from "./plugin-route.ts";
import { createRateLimit } from "./rate-limit.ts";
import { createApiRouter } from "./router.ts";
import { createPresenter } from "./rows/presenter.ts";
import { createScimRoute, isScimPath } from "./scim/scim-route.ts";
import { SECURITY_TXT_PATH, securityTxtResponse } from "./security-txt.ts";
import { sendResponse } from "./send-response.ts";
import { servedActions } from "./served-actions.ts";

export type { ApiDeps } from "./dependencies.ts";

/** The HTTP API. */
export interface Api {
  /**
   * Request listener for `/`: the API below `/api/`, plugin routes below `/x/`, SCIM below `/scim/v2`, the handbook
   * below `/help/`, everything else is the console.
   */
  callback(): http.RequestListener;
}

/** Base path of the current API version. */
const VERSION_BASE = "/api/v1";
const PLUGINS = "/x/";
const ON_PREMISES = "/api/onprem/";
/** Public pages and monitoring endpoints that are also served without the prefix `/api`. */
const UNPREFIXED_PATHS = /^\/(?:(?:join|confirm-join|leave|answer|decline)\/|(?:health|metrics)(?:\?|$))/;

/** Handlers of requests that bypass the router. */
interface UnroutedHandlers {
  isOwnHost: HostCheck;
  files: ConsoleAssets;
  handbook: Handbook;
  scim: ReturnType<typeof createScimRoute>;
}

/** Creates the API from all declarations and actions. */
export function createApi(deps: ApiDeps): Api {
  const { listen, api } = deps.settings;
  const identify = createClientIdentifier(deps);
  const rateLimit = createRateLimit(deps.clock, api.requestsPerMinute, identify);
  const admission = createAdmission({
    clock: deps.clock,
    limits: api.concurrentRequests,
    identify,
    isEmergencyUnderWay: deps.notificationService.isEmergencyUnderWay,
    onKnownClient: deps.onKnownClient,
  });
  const { metrics } = deps.monitoring;
  metrics.addGauge("requests_under_way", "Requests being served.", () => admission.counts.running);
  metrics.addGauge("requests_waiting", "Requests waiting for their turn.", () => admission.counts.waiting);
  metrics.addGauge("requests_refused", "Requests refused since the start because too many waited.", () => {
    return admission.counts.refused;
  });
  const handlers: UnroutedHandlers = {
    isOwnHost: createHostCheck({ listen, hosts: api.hosts }),
    files: createConsoleAssets(deps.consoleFolder),
    handbook: createHandbook(handbookFolder(), deps.clock),
    scim: createScimRoute(deps, rateLimit),
  };
  const older = new WeakMap<http.IncomingMessage, OlderAddress>();
  const app = new Koa<RequestState>();
  app.silent = true;
  app.use(respond(deps, admission, older));
  app.use((context, next) => serveUnrouted(context, next, deps, handlers));
  app.use(
    createApiRouter(createEndpoints(deps), async (endpoint, context) => {
      const incoming = readIncomingRequest(context);
      const response = await rateLimit(context.req, () => endpoint.serve(incoming));
      const address = older.get(context.req);
      if (!address?.hasOlderRows) return response;
      const origin = `${incoming.secure ? "https" : "http"}://${incoming.header("host") ?? "localhost"}`;
      return inOlderForm(response, { address, origin, search: splitTarget(context.req.url ?? "/").search });
    }),
  );
  const callback = app.callback();
  const readForwardedClient = createForwardedClientReader(api.trustedProxies);
  return {
    callback: () => {
      const listener = admission.admit((request, response) => void callback(request, response));
      return (request, response) => {
        // Many people share the connections of a proxy.
        if (readForwardedClient(request)) deps.onKnownClient(request);
        const address = translateRequest(request);
        if (address) older.set(request, address);
        listener(request, response);
      };
    },
  };
}

function auditErrorLogger({ log }: ApiDeps): (error: unknown) => void {
  return (err) => log.error({ event: "audit.entry_not_stored", err }, "failed to store an audit entry");
}

/** Kinds of credentials by the start of the path; all others are access tokens. */
const CREDENTIAL_KINDS: readonly (readonly [RegExp, string])[] = [
  [/^\/scim\//, "token of a directory"],
  [/^\/x\//, "credentials of a plugin"],
  [/^\/(?:api\/)?(?:v1\/)?oauth/, "secret of an application"],
];

/** Audits wrong tokens and secrets, summed up per address: they may be guesses. Without any, it was a forgotten log-in. */
function createRefusedCredentialLog(deps: ApiDeps): (request: http.IncomingMessage, status: number) => void {
  const summary = createAuditSummary(deps.store, deps.clock, auditErrorLogger(deps));
  const { scope } = deps.access.systemContext("api");
  return (request, status) => {
    const path = request.url ?? "";
    const isOAuth = CREDENTIAL_KINDS[2]?.[0].test(path) === true;
    if (status !== 401 || !(isOAuth || request.headers.authorization !== undefined || path.includes("access_token=")))
      return;
    const what = CREDENTIAL_KINDS.find(([pattern]) => pattern.test(path))?.[1] ?? "access token";
    const actor = { kind: "user", userId: null, name: "unknown caller", address: clientAddress(request) } as const;
    summary.record({ op: "credential-refused", resource: "user-tokens", rowId: null, what }, { actor, scope });
  };
}

/** Outermost middleware: sends the response or error and logs the request. */
function respond(
  deps: ApiDeps,
  admission: Admission,
  older: Pick<WeakMap<http.IncomingMessage, OlderAddress>, "has">,
): Middleware<RequestState> {
  // Request ids are unique across restarts without a random number per request.
  const run = newId();
  let requests = 0;
  const logRefusedCredential = createRefusedCredentialLog(deps);
  return async (context, next) => {
    const startedAt = deps.clock.monotonicMs();
    requests += 1;
    const requestId = `${run}-${requests.toString(36)}`;
    const { method } = context;
    const acceptsPassword = older.has(context.req) || context.path.startsWith(ON_PREMISES);
    Object.assign(context.state, { requestId, at: "-", overridden: false, acceptsPassword, headers: {} });
    context.res.once("finish", () => drainRequest(context.req, deps.clock));
    try {
      admission.assertAdmitted(context.req);
      await next();
    } catch (error) {
      context.state.response = toErrorResponse(error, requestId, deps);
    }
    const { at } = context.state;
    const { response: given, headers } = context.state;
    const complete = { ...given, headers: { ...given.headers, ...headers } };
    const mayLogIn = acceptsPassword && deps.settings.api.basicAuthentication && !isFromPage(context.req);
    const challenged = complete.status === 401 && mayLogIn ? withPasswordChallenge(complete) : complete;
    const response = withCorsHeaders(challenged, context.req, deps.settings.api.origins);
    await sendResponse(context, response);
    const status = response.status ?? 200;
    logRefusedCredential(context.req, status);
    const ms = Math.round((deps.clock.monotonicMs() - startedAt) * 10) / 10;
    // Refusals under load are counted in the metrics; a line for each would add to the load.
    const level = (method === "GET" && status < 400) || status === 429 ? "debug" : "info";
    deps.log[level](
      { event: "http.request", requestId, method, at, status, ms, address: clientAddress(context.req) },
      "request",
    );
  };
}

/** True for requests of scripts of a page: a browser would ask their user for a password. */
function isFromPage({ headers }: http.IncomingMessage): boolean {
  return headers.origin !== undefined || (headers["sec-fetch-mode"] ?? "navigate") !== "navigate";
}

/** Programs that wait for a challenge learn that a password is accepted. */
function withPasswordChallenge(response: HttpResponse): HttpResponse {
  const challenge = 'Bearer realm="carillon", Basic realm="carillon", charset="UTF-8"';
  return { ...response, headers: { ...response.headers, "WWW-Authenticate": challenge } };
}

function createEndpoints(deps: ApiDeps): Endpoint[] {
  const deniedRequests = createDeniedRequestLog(deps.store, deps.clock, (err) =>
    deps.log.error({ event: "audit.denied_request_not_stored", err }, "failed to store denied request"),
  );
  const readings = createAuditSummary(deps.store, deps.clock, auditErrorLogger(deps));
  const serving = {
    readings,
    presenter: createPresenter(deps, VERSION_BASE),
    deniedRequests,
    idempotency: createIdempotency(deps),
    basic: deps.settings.api.basicAuthentication ? createBasicAuthentication(deps) : null,
  };
  return servedActions(deps.catalogue).flatMap((action) => {
    const endpoint = createEndpoint(action, deps, serving);
    return [endpoint, ...onPremisesEndpoints(action, endpoint)];
  });
}

/** Handles everything outside the router: host check, console, handbook, plugin routes, SCIM, the `_method` override. */
async function serveUnrouted(
  context: ParameterizedContext<RequestState>,
  next: Next,
  deps: ApiDeps,
  { isOwnHost, files, handbook, scim }: UnroutedHandlers,
): Promise<void> {
  const { req, state } = context;
  assertOwnHost(req, isOwnHost);
  if (!req.url?.startsWith("/")) throw notFound();
  // Links in messages are short, and monitoring tools expect these paths.
  if (UNPREFIXED_PATHS.test(req.url)) req.url = `${API_PREFIX.slice(0, -1)}${req.url}`;
  const { path, search } = splitTarget(req.url);
  if (path.startsWith(PLUGINS)) {
    state.at = "/x";
    state.response = await routeToPlugin(req, path.slice(PLUGINS.length), search, deps);
    return;
  }
  if (isScimPath(path)) {
    state.at = SCIM_BASE_PATH;
    state.response = await scim(req, path, search);
    return;
  }
  if (!`${path}/`.startsWith(API_PREFIX)) {
    const isHelp = isHandbookPath(path);
    state.at = isHelp ? "/help" : "console";
    if (context.method !== "GET" && context.method !== "HEAD") throw new MethodNotAllowedError("GET, HEAD");
    if (path === SECURITY_TXT_PATH) {
      state.at = path;
      state.response = securityTxtResponse(req, deps.settings, deps.clock.now());
    } else if (isHelp)
      state.response = await handbook.respond(path, search, req.headers["accept-encoding"] as string | undefined);
    else state.response = await files.respond(path, (name) => req.headers[name] as string | undefined);
    return;
  }
  if (deps.settings.api.methodOverride && context.method === "GET") applyMethodOverride(context);
  await next();
}

function toErrorResponse(error: unknown, requestId: string, { log }: ApiDeps): HttpResponse {
  if (isBug(error)) log.error({ event: "http.request_failed", requestId, err: error }, "request failed");
  const { status, headers, body } = errorResponseOf(error, requestId);
  return { status, headers, body: JSON.stringify(body) };
}
