import type { IncomingMessage } from "node:http";
import { invalidValue } from "../base/errors.ts";
import type { Method } from "../schema/resource.ts";
import { parseQuery, type Query, singleText } from "./query.ts";

/** A request as it came in, before it is known what it asks for. */
export interface Incoming {
  method: Method;
  /** Below `/api/`, without query and leading slash. */
  path: string;
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

/** Reads what a request says beside its body. Throws CallerError for a query that can't be read. */
export function readIncoming(
  raw: IncomingMessage,
  asked: { method: Method; path: string; search: string; requestId: string; methodOverride: boolean },
): Incoming {
  const query = parseQuery(asked.search);
  const other = asked.methodOverride ? overrideIn(query) : null;
  return {
    method: other ?? asked.method,
    path: asked.path,
    query,
    overridden: other !== null,
    requestId: asked.requestId,
    address: addressOf(raw),
    secure: "encrypted" in raw.socket,
    header(name) {
      const value = raw.headers[name];
      return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
    },
    raw,
  };
}

/** Network address of the client; IPv4 addresses in their own form. */
export function addressOf(raw: IncomingMessage): string | null {
  return raw.socket.remoteAddress?.replace(/^::ffff:/, "") ?? null;
}

function overrideIn(query: Query): Method | null {
  const word = singleText(query, "_method")?.toLowerCase() ?? null;
  if (word === null || word === "get") return null;
  if (word !== "post" && word !== "put" && word !== "delete") throw invalidValue("_method");
  return word;
}
