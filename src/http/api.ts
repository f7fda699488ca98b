import type http from "node:http";
import Koa, { type Middleware, type Next, type ParameterizedContext } from "koa";
import { createHostCheck, type HostCheck } from "../auth/host-check.ts";
import { invalidValue, notFound } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { newId } from "../lib/ids.ts";
import { createDeniedRequestLog } from "../permissions/denied-request-log.ts";
import { SCIM_BASE_PATH } from "../scim/server.ts";
import { drainRequest } from "./body/drain-request.ts";
import { type ConsoleAssets, createConsoleAssets } from "./console-assets.ts";
import { withCorsHeaders } from "./cors.ts";
import type { ApiDeps } from "./dependencies.ts";
import { createEndpoint, type Endpoint } from "./endpoint.ts";
import { errorResponseOf, isBug, MethodNotAllowedError, misdirectedRequest } from "./error-response.ts";
import { createIdempotency } from "./idempotency.ts";
import {
  API_PREFIX,
  applyMethodOverride,
  clientAddress,
  type RequestState,
  readIncomingRequest,
  splitTarget,
} from "./incoming-request.ts";
import { onPremisesEndpoints } from "./on-premises-paths.ts";
import { routeToPlugin } from "./plugin-route.ts";
import { createClientIdentifier, createRateLimit } from "./rate-limit.ts";
import { createApiRouter } from "./router.ts";
import { createPresenter } from "./rows/presenter.ts";
import { createScimRoute, isScimPath } from "./scim/scim-route.ts";
import { sendResponse } from "./send-response.ts";
import { servedActions } from "./served-actions.ts";

export type { ApiDeps } from "./dependencies.ts";

/** The HTTP interface. */
export interface Api {
  /** What an HTTP server serves, mounted at `/`: the API below `/api/`, plugins' routes below `/x/`, SCIM below `/scim/v2`, all else the console. */
  callback(): http.RequestListener;
}

/** The current version within the API. */
const VERSION_BASE = "/api/v1";
const PLUGINS = "/x/";
/** Pages of campaigns and answers, and what watching programs ask for, which lie in the API as well. */
const UNPREFIXED_PATHS = /^\/(?:(?:join|leave|answer|decline)\/|(?:health|metrics)(?:\?|$))/;

/** What is asked before the API, and what lies beside it. */
interface UnroutedHandlers {
  isOwnHost: HostCheck;
  files: ConsoleAssets;
  scim: ReturnType<typeof createScimRoute>;
}

/** Makes the API of all declarations and actions. */
export function createApi(needs: ApiDeps): Api {
  const { listen, api } = needs.settings;
  const limited = createRateLimit(needs.clock, api.requestsPerMinute, createClientIdentifier(needs));
  const pages: UnroutedHandlers = {
    isOwnHost: createHostCheck({ listen, hosts: api.hosts }),
    files: createConsoleAssets(needs.consoleFolder),
    scim: createScimRoute(needs, limited),
  };
  const app = new Koa<RequestState>();
  app.silent = true;
  app.use(respond(needs));
  app.use((context, next) => serveUnrouted(context, next, needs, pages));
  app.use(
    createApiRouter(createEndpoints(needs), (endpoint, context) => {
      const incoming = readIncomingRequest(context);
      return limited(incoming, () => endpoint.serve(incoming));
    }),
  );
  const callback = app.callback();
  return { callback: () => (request, response) => void callback(request, response) };
}

/** The outermost step: sends the answer or what an error says, and tells the log. */
function respond(needs: ApiDeps): Middleware<RequestState> {
  // Names of requests are unique over restarts without asking the random source each time.
  const run = newId();
  let requests = 0;
  return async (context, next) => {
    const began = needs.clock.monotonicMs();
    requests += 1;
    const requestId = `${run}-${requests.toString(36)}`;
    const { method } = context;
    Object.assign(context.state, { requestId, at: "-", overridden: false, headers: {} });
    context.res.once("finish", () => drainRequest(context.req, needs.clock));
    try {
      await next();
    } catch (error) {
      context.state.response = toErrorResponse(error, requestId, needs);
    }
    const { at } = context.state;
    const { response: given, headers } = context.state;
    const told = { ...given, headers: { ...given.headers, ...headers } };
    const answer = withCorsHeaders(told, context.req, needs.settings.api.origins);
    await sendResponse(context, answer);
    const status = answer.status ?? 200;
    const ms = Math.round((needs.clock.monotonicMs() - began) * 10) / 10;
    const level = method === "GET" && status < 400 ? "debug" : "info";
    needs.log[level]({ requestId, method, at, status, ms, address: clientAddress(context.req) }, "request");
  };
}

function createEndpoints(needs: ApiDeps): Endpoint[] {
  const deniedRequests = createDeniedRequestLog(needs.store, needs.clock, (err) =>
    needs.log.error({ err }, "a refusal was not kept"),
  );
  const serving = {
    presenter: createPresenter(needs, VERSION_BASE),
    deniedRequests,
    idempotency: createIdempotency(needs),
  };
  return servedActions(needs.catalogue).flatMap((action) => {
    const endpoint = createEndpoint(action, needs, serving);
    return [endpoint, ...onPremisesEndpoints(action, endpoint)];
  });
}

/** What the router has no pattern for: the console's files, plugins' routes, methods named by a parameter, and what is no path at all. */
async function serveUnrouted(
  context: ParameterizedContext<RequestState>,
  next: Next,
  needs: ApiDeps,
  { isOwnHost, files, scim }: UnroutedHandlers,
): Promise<void> {
  const { req, state } = context;
  if (req.headers.host === undefined && req.httpVersion === "1.1") throw invalidValue("host", "The header is missing.");
  if (!isOwnHost({ host: req.headers.host ?? null, localAddress: req.socket.localAddress })) throw misdirectedRequest();
  if (!req.url?.startsWith("/")) throw notFound();
  // Links that people get in messages are short, and programs that watch expect these paths.
  if (UNPREFIXED_PATHS.test(req.url)) req.url = `${API_PREFIX.slice(0, -1)}${req.url}`;
  const { path, search } = splitTarget(req.url);
  if (path.startsWith(PLUGINS)) {
    state.at = "/x";
    state.response = await routeToPlugin(req, path.slice(PLUGINS.length), search, needs);
    return;
  }
  if (isScimPath(path)) {
    state.at = SCIM_BASE_PATH;
    state.response = await scim(req, path, search);
    return;
  }
  if (!`${path}/`.startsWith(API_PREFIX)) {
    state.at = "console";
    if (context.method !== "GET" && context.method !== "HEAD") throw new MethodNotAllowedError("GET, HEAD");
    state.response = await files.respond(path, (name) => req.headers[name] as string | undefined);
    return;
  }
  if (needs.settings.api.methodOverride && context.method === "GET") applyMethodOverride(context);
  await next();
}

function toErrorResponse(error: unknown, requestId: string, { log }: ApiDeps): HttpResponse {
  if (isBug(error)) log.error({ requestId, err: error }, "request failed");
  const { status, headers, body } = errorResponseOf(error, requestId);
  return { status, headers, body: JSON.stringify(body) };
}
