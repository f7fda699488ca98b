import type { IncomingMessage } from "node:http";
import type { Middleware, ParameterizedContext } from "koa";
import { invalidValue } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import type { Method } from "../schema/resource.ts";
import { parseQuery, type Query, textParameter } from "./query/query.ts";

/** What is known of a request from its arrival to its log line. */
export interface RequestState {
  requestId: string;
  /** The pattern that serves it; never its path, which may be none of ours. */
  at: string;
  response: HttpResponse;
  /** Headers that every answer of the endpoint has. */
  headers: Readonly<Record<string, string>>;
  /** True when `_method` named the method: parameters of a body are in the query. */
  overridden: boolean;
}

/** Where the API lies. */
export const API_PREFIX = "/api/";

/** A context with the placeholders' values. */
export type RoutedContext = Parameters<Middleware<RequestState>>[0] & { params: Readonly<Record<string, string>> };

/** The generic methods by their HTTP names; HEAD is a GET without its body. */
const METHODS: Readonly<Record<string, Method>> = {
  GET: "get",
  HEAD: "get",
  POST: "post",
  PUT: "put",
  DELETE: "delete",
};

/** A request as it came in, before it is known what it asks for. */
export interface IncomingRequest {
  method: Method;
  /** Below `/api/`, without query and leading slash. */
  path: string;
  /** Values of the path's placeholders as sent, by name. */
  params: Readonly<Record<string, string>>;
  query: Query;
  /** True when `_method` named the method: parameters of a body are in the query. */
  overridden: boolean;
  requestId: string;
  address: string | null;
  /** True when it came over TLS. */
  secure: boolean;
  header(name: string): string | null;
  raw: IncomingMessage;
}

/** Splits the target of a request; `path` keeps its leading slash. */
export function splitTarget(url: string): { path: string; search: string } {
  const mark = url.indexOf("?");
  return mark < 0 ? { path: url, search: "" } : { path: url.slice(0, mark), search: url.slice(mark + 1) };
}

/** Reads what a routed request says beside its body. Throws CallerError for a query that can't be read. */
export function readIncomingRequest({ req: raw, method, params, state }: RoutedContext): IncomingRequest {
  const { path, search } = splitTarget(raw.url ?? "/");
  return {
    method: METHODS[method] as Method,
    path: path.slice(API_PREFIX.length).replace(/\/$/, ""),
    params,
    query: parseQuery(search),
    overridden: state.overridden,
    requestId: state.requestId,
    address: clientAddress(raw),
    secure: "encrypted" in raw.socket,
    header(name) {
      const value = raw.headers[name];
      return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
    },
    raw,
  };
}

/** Network address of the client; IPv4 addresses in their own form. */
export function clientAddress(raw: IncomingMessage): string | null {
  return raw.socket.remoteAddress?.replace(/^::ffff:/, "") ?? null;
}

/** Makes a GET what its parameter `_method` asks for. Throws invalid-value for other words than post, put, delete, get. */
export function applyMethodOverride(context: ParameterizedContext<RequestState>): void {
  const word = textParameter(parseQuery(splitTarget(context.req.url ?? "/").search), "_method")?.toLowerCase() ?? "get";
  if (word === "get") return;
  if (word !== "post" && word !== "put" && word !== "delete") {
    throw invalidValue("_method", "It is POST, PUT or DELETE.");
  }
  context.method = word.toUpperCase();
  context.state.overridden = true;
}
