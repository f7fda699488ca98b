import type http from "node:http";
import Koa, { type Middleware, type Next, type ParameterizedContext } from "koa";
import { createHostCheck, type HostCheck } from "../access/hosts.ts";
import { createRefusals } from "../access/refusals.ts";
import { SCIM_PATH } from "../access/scim/scim.ts";
import { invalidValue, notFound } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type { Answer } from "./action.ts";
import { type ConsoleFiles, createConsoleFiles } from "./console-files.ts";
import { allowOrigin } from "./cross-origin.ts";
import { createEndpoint, type Endpoint } from "./endpoint.ts";
import { answerOf, isBug, MethodNotAllowed, wrongHost } from "./error-answer.ts";
import { API, addressOf, overrideMethod, type RequestState, readIncoming, splitTarget } from "./incoming.ts";
import { leaveUnread } from "./leave-unread.ts";
import type { ApiNeeds } from "./needs.ts";
import { onPremisesEndpoints } from "./on-premises.ts";
import { createOnceOnly } from "./once-only.ts";
import { routeToPlugin } from "./plugin-route.ts";
import { createPresenter } from "./presenter.ts";
import { createAskerOf, createRateLimit } from "./rate-limit.ts";
import { routeTo } from "./router.ts";
import { createScimRoute, isScimPath } from "./scim-route.ts";
import { send } from "./send.ts";
import { servedActions } from "./served-actions.ts";

export type { ApiNeeds } from "./needs.ts";

/** The HTTP interface. */
export interface Api {
  /** What an HTTP server serves, mounted at `/`: the API below `/api/`, plugins' routes below `/x/`, SCIM below `/scim/v2`, all else the console. */
  callback(): http.RequestListener;
}

/** The current version within the API. */
const VERSION_BASE = "/api/v1";
const PLUGINS = "/x/";
/** Pages of campaigns and answers, and what watching programs ask for, which lie in the API as well. */
const SHORT = /^\/(?:(?:join|leave|answer|decline)\/|(?:health|metrics)(?:\?|$))/;

/** What is asked before the API, and what lies beside it. */
interface Pages {
  isOurs: HostCheck;
  files: ConsoleFiles;
  scim: ReturnType<typeof createScimRoute>;
}

/** Makes the API of all declarations and actions. */
export function createApi(needs: ApiNeeds): Api {
  const { listen, api } = needs.settings;
  const limited = createRateLimit(needs.clock, api.requestsPerMinute, createAskerOf(needs));
  const pages: Pages = {
    isOurs: createHostCheck({ listen, hosts: api.hosts }),
    files: createConsoleFiles(needs.consoleFolder),
    scim: createScimRoute(needs, limited),
  };
  const app = new Koa<RequestState>();
  app.silent = true;
  app.use(answering(needs));
  app.use((context, next) => beforeRoutes(context, next, needs, pages));
  app.use(
    routeTo(endpointsOf(needs), (endpoint, context) => {
      const incoming = readIncoming(context);
      return limited(incoming, () => endpoint.serve(incoming));
    }),
  );
  const callback = app.callback();
  return { callback: () => (request, response) => void callback(request, response) };
}

/** The outermost step: sends the answer or what an error says, and tells the log. */
function answering(needs: ApiNeeds): Middleware<RequestState> {
  // Names of requests are unique over restarts without asking the random source each time.
  const run = newId();
  let requests = 0;
  return async (context, next) => {
    const began = needs.clock.monotonicMs();
    requests += 1;
    const requestId = `${run}-${requests.toString(36)}`;
    const { method } = context;
    Object.assign(context.state, { requestId, at: "-", overridden: false, headers: {} });
    context.res.once("finish", () => leaveUnread(context.req, needs.clock));
    try {
      await next();
    } catch (error) {
      context.state.answer = errorAnswer(error, requestId, needs);
    }
    const { at } = context.state;
    const { answer: given, headers } = context.state;
    const told = { ...given, headers: { ...given.headers, ...headers } };
    const answer = allowOrigin(told, context.req, needs.settings.api.origins);
    await send(context, answer);
    const status = answer.status ?? 200;
    const ms = Math.round((needs.clock.monotonicMs() - began) * 10) / 10;
    const level = method === "GET" && status < 400 ? "debug" : "info";
    needs.log[level]({ requestId, method, at, status, ms, address: addressOf(context.req) }, "request");
  };
}

function endpointsOf(needs: ApiNeeds): Endpoint[] {
  const refusals = createRefusals(needs.store, needs.clock, (err) =>
    needs.log.error({ err }, "a refusal was not kept"),
  );
  const serving = { presenter: createPresenter(needs, VERSION_BASE), refusals, onceOnly: createOnceOnly(needs) };
  return servedActions(needs.catalogue).flatMap((action) => {
    const endpoint = createEndpoint(action, needs, serving);
    return [endpoint, ...onPremisesEndpoints(action, endpoint)];
  });
}

/** What the router has no pattern for: the console's files, plugins' routes, methods named by a parameter, and what is no path at all. */
async function beforeRoutes(
  context: ParameterizedContext<RequestState>,
  next: Next,
  needs: ApiNeeds,
  { isOurs, files, scim }: Pages,
): Promise<void> {
  const { req, state } = context;
  if (req.headers.host === undefined && req.httpVersion === "1.1") throw invalidValue("host", "The header is missing.");
  if (!isOurs({ host: req.headers.host ?? null, localAddress: req.socket.localAddress })) throw wrongHost();
  if (!req.url?.startsWith("/")) throw notFound();
  // Links that people get in messages are short, and programs that watch expect these paths.
  if (SHORT.test(req.url)) req.url = `${API.slice(0, -1)}${req.url}`;
  const { path, search } = splitTarget(req.url);
  if (path.startsWith(PLUGINS)) {
    state.at = "/x";
    state.answer = await routeToPlugin(req, path.slice(PLUGINS.length), search, needs);
    return;
  }
  if (isScimPath(path)) {
    state.at = SCIM_PATH;
    state.answer = await scim(req, path, search);
    return;
  }
  if (!`${path}/`.startsWith(API)) {
    state.at = "console";
    if (context.method !== "GET" && context.method !== "HEAD") throw new MethodNotAllowed("GET, HEAD");
    state.answer = await files.answer(path, (name) => req.headers[name] as string | undefined);
    return;
  }
  if (needs.settings.api.methodOverride && context.method === "GET") overrideMethod(context);
  await next();
}

function errorAnswer(error: unknown, requestId: string, { log }: ApiNeeds): Answer {
  if (isBug(error)) log.error({ requestId, err: error }, "request failed");
  const { status, headers, body } = answerOf(error, requestId);
  return { status, headers, body: JSON.stringify(body) };
}
