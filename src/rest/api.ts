import type http from "node:http";
import { Readable } from "node:stream";
import Koa, { type Context } from "koa";
import { createHostCheck, type HostCheck } from "../access/hosts.ts";
import { invalidValue, notFound } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type { Answer } from "./action.ts";
import { actionsFor } from "./actions/index.ts";
import { type ConsoleFiles, createConsoleFiles } from "./console-files.ts";
import { createEndpoint, type Endpoint, METHODS } from "./endpoint.ts";
import { answerOf, isBug, MethodNotAllowed, wrongHost } from "./error-answer.ts";
import { addressOf, readIncoming, splitTarget } from "./incoming.ts";
import type { ApiNeeds } from "./needs.ts";
import { routeToPlugin } from "./plugin-route.ts";
import { createPresenter } from "./presenter.ts";
import { createRoutes, type Routes } from "./routes.ts";
import { rowOperations } from "./row-operations.ts";

export type { ApiNeeds } from "./needs.ts";

/** The HTTP interface. */
export interface Api {
  /** What an HTTP server serves, mounted at `/`: the API below `/api/`, plugins' routes below `/x/`, all else the console. */
  callback(): http.RequestListener;
}

/** Where the API lies, and its current version within. */
const API = "/api/";
const VERSION_BASE = "/api/v1";
const PLUGINS = "/x/";

/** What is asked before the API, and what lies beside it. */
interface Pages {
  isOurs: HostCheck;
  files: ConsoleFiles;
}

/** What a request turned out to be, for its log line: never its query, its body or a path that is none of ours. */
interface Told {
  at: string;
}

/** Makes the API of all declarations and actions. */
export function createApi(needs: ApiNeeds): Api {
  const routes = routesOf(needs);
  const { listen, api } = needs.settings;
  const pages: Pages = {
    isOurs: createHostCheck({ listen, hosts: api.hosts }),
    files: createConsoleFiles(needs.consoleFolder),
  };
  const app = new Koa();
  app.silent = true;
  // Names of requests are unique over restarts without asking the random source each time.
  const run = newId();
  let requests = 0;
  app.use(async (ctx) => {
    const began = needs.clock.monotonicMs();
    requests += 1;
    const requestId = `${run}-${requests.toString(36)}`;
    const told: Told = { at: "-" };
    let answered: Answer;
    ctx.res.once("finish", () => leaveUnread(ctx, needs));
    try {
      answered = await answer(ctx, requestId, routes, needs, told, pages);
      send(ctx, answered, requestId);
    } catch (error) {
      answered = errorAnswer(error, requestId, needs);
      send(ctx, answered, requestId);
    }
    const { method } = ctx;
    const status = answered.status ?? 200;
    const ms = Math.round((needs.clock.monotonicMs() - began) * 10) / 10;
    const level = method === "GET" && status < 400 ? "debug" : "info";
    needs.log[level]({ requestId, method, at: told.at, status, ms, address: addressOf(ctx.req) }, "request");
  });
  const callback = app.callback();
  return { callback: () => (request, response) => void callback(request, response) };
}

/** Generic operations first, so that an action of the same method and path replaces one. */
function routesOf(needs: ApiNeeds): Routes<Endpoint> {
  const routes = createRoutes<Endpoint>();
  const presenter = createPresenter(needs, VERSION_BASE);
  const generic = needs.catalogue.all.flatMap((resource) =>
    resource.paths.flatMap((path) => rowOperations(resource, path, presenter)),
  );
  for (const action of [...generic, ...actionsFor(needs.catalogue)]) {
    const endpoint = createEndpoint(action, needs, presenter);
    routes.add(action.method, endpoint.at, endpoint);
  }
  return routes;
}

async function answer(
  ctx: Context,
  requestId: string,
  routes: Routes<Endpoint>,
  needs: ApiNeeds,
  told: Told,
  { isOurs, files }: Pages,
): Promise<Answer> {
  if (ctx.req.headers.host === undefined && ctx.req.httpVersion === "1.1") throw invalidValue("host");
  const { localAddress } = ctx.req.socket;
  if (!isOurs({ host: ctx.req.headers.host ?? null, localAddress })) throw wrongHost();
  const { path, search } = splitTarget(ctx.req.url ?? "/");
  if (path.startsWith(PLUGINS)) {
    told.at = "/x";
    return routeToPlugin(ctx.req, path.slice(PLUGINS.length), search, needs);
  }
  if (!path.startsWith(API)) {
    told.at = "console";
    if (METHODS[ctx.method] !== "get") throw new MethodNotAllowed("GET, HEAD");
    return files.answer(path, (name) => ctx.req.headers[name] as string | undefined);
  }
  const found = routes.find(path.slice(API.length));
  if (!found) throw notFound();
  const asked = METHODS[ctx.method];
  if (!asked) throw notAllowed(found.methods);
  const methodOverride = needs.settings.api.methodOverride && ctx.method === "GET";
  const incoming = readIncoming(ctx.req, {
    method: asked,
    path: path.slice(API.length).replace(/\/$/, ""),
    search,
    requestId,
    methodOverride,
  });
  const endpoint = found.methods.get(incoming.method);
  if (!endpoint) throw notAllowed(found.methods);
  told.at = `${API}${endpoint.at}`;
  return endpoint.serve(incoming, found.values);
}

function notAllowed(methods: ReadonlyMap<string, unknown>): MethodNotAllowed {
  const names = [...methods.keys()].map((method) => method.toUpperCase());
  return new MethodNotAllowed([...(names.includes("GET") ? ["HEAD"] : []), ...names].sort().join(", "));
}

/** Texts go out past koa in one piece; koa sends files, and ends them when the client goes away. */
function send(ctx: Context, { status = 200, headers, type, body }: Answer, requestId: string): void {
  const all: Record<string, string | number> = {
    "x-request-id": requestId,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  if (body !== null) all["content-type"] = type ?? "application/json; charset=utf-8";
  for (const name in headers) all[name.toLowerCase()] = headers[name] as string;
  if (body instanceof Readable) {
    ctx.status = status;
    for (const [name, value] of Object.entries(all)) ctx.set(name, String(value));
    ctx.body = body;
    return;
  }
  ctx.respond = false;
  if (body !== null) all["content-length"] = Buffer.byteLength(body);
  ctx.res.writeHead(status, all).end(body);
}

function errorAnswer(error: unknown, requestId: string, { log }: ApiNeeds): Answer {
  if (isBug(error)) log.error({ requestId, err: error }, "request failed");
  const { status, headers, body } = answerOf(error, requestId);
  return { status, headers, body: JSON.stringify(body) };
}

/** How long the rest of a body may go on arriving after the answer. */
const LINGER_MS = 10_000;

/**
 * Many clients read the answer only when they have sent everything, so what nobody reads is thrown away as it arrives,
 * for a while.
 */
function leaveUnread({ req }: Context, { clock }: ApiNeeds): void {
  if (req.complete) return;
  req.resume();
  const timer = clock.after(LINGER_MS, () => req.socket.destroy(), { background: true });
  req.once("close", () => timer.cancel());
}
