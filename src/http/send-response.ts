import { Readable } from "node:stream";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ParameterizedContext } from "koa";
import type { HttpResponse } from "../lib/http-response.ts";
import { matchesIfNoneMatch, responseEtag } from "./etag.ts";
import type { RequestState } from "./incoming-request.ts";

type Context = ParameterizedContext<RequestState>;
type Headers = Record<string, string | number>;

/** Texts of fewer bytes go out as they are: squeezing them would save no packet. own choice */
const MIN_GZIP_BYTES = 1_024;
const COMPRESSIBLE = /^(application\/(json|xml|[\w.-]+\+json)|text\/(?!event-stream))/;
/** Whether a request takes gzip. @source RFC 9110 §12.5.3 */
const ACCEPTS_GZIP = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i;
/** own choice: nine tenths of the gain of the default level for half of its time. */
const GZIP_LEVEL = 3;
const compress = promisify(gzip);

/**
 * Sends an answer: 304 where the request names what it would get, gzip in another thread where it is taken and worth it.
 * Texts go out past koa in one piece; koa sends files, and ends them when the client goes away.
 */
export async function sendResponse(ctx: Context, answer: HttpResponse): Promise<void> {
  const headers = headersOf(answer, ctx.state.requestId);
  const isRead = (ctx.method === "GET" || ctx.method === "HEAD") && (answer.status ?? 200) === 200;
  if (isRead && typeof answer.body === "string" && headers["cache-control"] === "no-store") {
    headers.etag = responseEtag(headers.etag === undefined ? null : String(headers.etag), answer.body);
  }
  if (isRead && matchesIfNoneMatch(ctx.req.headers["if-none-match"], headers.etag))
    return sendNotModified(ctx, answer, headers);
  if (answer.body instanceof Readable) return sendStream(ctx, answer, headers);
  ctx.respond = false;
  let { body } = answer;
  if (body !== null && isCompressible(body, headers)) {
    headers.vary = withVary(headers.vary);
    if (ACCEPTS_GZIP.test(String(ctx.req.headers["accept-encoding"] ?? ""))) {
      // Who asks for the head alone is told of the form that would be sent, but for its length.
      body = ctx.method === "HEAD" ? null : await compress(body, { level: GZIP_LEVEL });
      headers["content-encoding"] = "gzip";
      // The same for both forms, so it no longer names the bytes.
      if (headers.etag !== undefined) headers.etag = `W/${headers.etag}`;
    }
  }
  if (body !== null) headers["content-length"] = Buffer.byteLength(body);
  ctx.res.writeHead(answer.status ?? 200, headers).end(body);
}

function headersOf({ headers, type, body }: HttpResponse, requestId: string): Headers {
  const all: Headers = {
    "x-request-id": requestId,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
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
