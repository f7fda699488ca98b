import type { IncomingMessage } from "node:http";
import type { Middleware, ParameterizedContext } from "koa";
import { invalidValue } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Method } from "../schema/resource.ts";
import { clientOf } from "./forwarded-client.ts";
import { parseQuery, type Query, textParameter } from "./query/query.ts";

/** State of a request from arrival to the log line. */
export interface RequestState {
  requestId: string;
  /** Route pattern for the log; never the path, which may contain ids or arbitrary text. */
  at: string;
  response: HttpResponse;
  /** Headers of every response of the endpoint. */
  headers: Readonly<Record<string, string>>;
  /** True if the method came from `_method`; the fields are then in the query. */
  overridden: boolean;
  /** True for the paths of on-premises servers, whose programs log in by a password in each request. */
  acceptsPassword: boolean;
}

/** Prefix of the API. */
export const API_PREFIX = "/api/";

/** A koa context with path parameters. */
export type RoutedContext = Parameters<Middleware<RequestState>>[0] & { params: Readonly<Record<string, string>> };

/** API methods by HTTP method; HEAD is a GET without a body. */
const METHODS: Readonly<Record<string, Method>> = {
  GET: "get",
  HEAD: "get",
  POST: "post",
  PUT: "put",
  DELETE: "delete",
};

/** A request before routing. */
export interface IncomingRequest {
  method: Method;
  /** Path below `/api/`, without query and leading slash. */
  path: string;
  /** Path parameters as sent. */
  params: Readonly<Record<string, string>>;
  query: Query;
  /** True if the method came from `_method`; the fields are then in the query. */
  overridden: boolean;
  /** True if the request may authenticate by a name and a password (HTTP Basic). */
  acceptsPassword: boolean;
  requestId: string;
  address: string | null;
  secure: boolean;
  header(name: string): string | null;
  raw: IncomingMessage;
}

/** Splits a request target; `path` keeps its leading slash. */
export function splitTarget(url: string): { path: string; search: string } {
  const mark = url.indexOf("?");
  return mark < 0 ? { path: url, search: "" } : { path: url.slice(0, mark), search: url.slice(mark + 1) };
}

/** Reads method, path, query and headers of a routed request. Throws CallerError for an invalid query. */
export function readIncomingRequest({ req: raw, method, params, state }: RoutedContext): IncomingRequest {
  const { path, search } = splitTarget(raw.url ?? "/");
  return {
    method: METHODS[method] as Method,
    path: path.slice(API_PREFIX.length).replace(/\/$/, ""),
    params,
    query: parseQuery(search),
    overridden: state.overridden,
    acceptsPassword: state.acceptsPassword,
    requestId: state.requestId,
    ...clientOf(raw),
    header(name) {
      const value = raw.headers[name];
      return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
    },
    raw,
  };
}

/** Applies the parameter `_method` to a GET. Throws invalid-value for other values than post, put, delete, get. */
export function applyMethodOverride(context: ParameterizedContext<RequestState>): void {
  const word = textParameter(parseQuery(splitTarget(context.req.url ?? "/").search), "_method")?.toLowerCase() ?? "get";
  if (word === "get") return;
  if (word !== "post" && word !== "put" && word !== "delete") {
    throw invalidValue("_method", sentence("field.must-be-post-put-or-delete"));
  }
  context.method = word.toUpperCase();
  context.state.overridden = true;
}
