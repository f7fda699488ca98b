import { Readable } from "node:stream";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ParameterizedContext } from "koa";
import type { HttpResponse } from "../lib/http-response.ts";
import { matchesIfNoneMatch, responseEtag } from "./etag.ts";
import type { RequestState } from "./incoming-request.ts";
import { DATA_SECURITY_HEADERS } from "./security-headers.ts";

type Context = ParameterizedContext<RequestState>;
type Headers = Record<string, string | number>;

/** Smaller texts are not compressed: it would not save a packet. */
const MIN_GZIP_BYTES = 1_024;
const COMPRESSIBLE = /^(application\/(json|xml|[\w.-]+\+json)|text\/(?!event-stream))/;
const ACCEPTS_GZIP = encodingPattern("gzip");
/** Nine tenths of the gain of the default level for half of its time. */
const GZIP_LEVEL = 3;
const compress = promisify(gzip);

/** Matches an Accept-Encoding header that allows `encoding`. @source RFC 9110 §12.5.3 */
export function encodingPattern(encoding: "br" | "gzip"): RegExp {
  return new RegExp(`\\b${encoding}\\b(?!\\s*;\\s*q=0(\\.0*)?\\s*(,|$))`, "i");
}

/**
 * Sends a response: 304 for a matching ETag, gzip (in the thread pool) if accepted and worthwhile. Strings bypass
 * koa; streams are sent by koa, which destroys them when the client disconnects.
 */
export async function sendResponse(ctx: Context, response: HttpResponse): Promise<void> {
  const headers = headersOf(response, ctx.state.requestId);
  if (response.cookies) ctx.res.setHeader("set-cookie", [...response.cookies]);
  const isRead = (ctx.method === "GET" || ctx.method === "HEAD") && (response.status ?? 200) === 200;
  if (isRead && typeof response.body === "string" && headers["cache-control"] === "no-store") {
    headers.etag = responseEtag(headers.etag === undefined ? null : String(headers.etag), response.body);
  }
  if (isRead && matchesIfNoneMatch(ctx.req.headers["if-none-match"], headers.etag))
    return sendNotModified(ctx, response, headers);
  if (response.body instanceof Readable) return sendStream(ctx, response, headers);
  ctx.respond = false;
  let { body } = response;
  if (body !== null && isCompressible(body, headers)) {
    headers.vary = withVary(headers.vary);
    if (ACCEPTS_GZIP.test(String(ctx.req.headers["accept-encoding"] ?? ""))) {
      // A HEAD response has the headers of the GET except for the length.
      body = ctx.method === "HEAD" ? null : await compress(body, { level: GZIP_LEVEL });
      headers["content-encoding"] = "gzip";
      // A weak ETag, because it is the same for both encodings.
      if (headers.etag !== undefined) headers.etag = `W/${headers.etag}`;
    }
  }
  if (body !== null) headers["content-length"] = Buffer.byteLength(body);
  ctx.res.writeHead(response.status ?? 200, headers).end(body);
}

function headersOf({ headers, type, body }: HttpResponse, requestId: string): Headers {
  const all: Headers = {
    "x-request-id": requestId,
    "cache-control": "no-store",
    ...DATA_SECURITY_HEADERS,
  };
  if (body !== null) all["content-type"] = type ?? "application/json; charset=utf-8";
  for (const name in headers) all[name.toLowerCase()] = headers[name] as string;
  return all;
}

function sendNotModified(ctx: Context, { body }: HttpResponse, headers: Headers): void {
  if (body instanceof Readable) body.destroy();
  const { "content-type": _type, "content-length": _length, ...rest } = headers;
  ctx.respond = false;
  ctx.res.writeHead(304, rest).end();
}

function sendStream(ctx: Context, { status = 200, body }: HttpResponse, headers: Headers): void {
  ctx.status = status;
  for (const [name, value] of Object.entries(headers)) ctx.set(name, String(value));
  ctx.body = body;
}

function withVary(vary: string | number | undefined): string {
  if (vary === undefined) return "Accept-Encoding";
  return /accept-encoding/i.test(String(vary)) ? String(vary) : `${vary}, Accept-Encoding`;
}

function isCompressible(body: string | Uint8Array, headers: Headers): boolean {
  if (body.length < MIN_GZIP_BYTES || headers["content-encoding"] !== undefined) return false;
  return COMPRESSIBLE.test(String(headers["content-type"]));
}
