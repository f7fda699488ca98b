import { Readable } from "node:stream";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ParameterizedContext } from "koa";
import type { Answer } from "./action.ts";
import { isNamed, tagOf } from "./etag.ts";
import type { RequestState } from "./incoming.ts";

type Context = ParameterizedContext<RequestState>;
type Headers = Record<string, string | number>;

/** Texts of fewer bytes go out as they are: squeezing them would save no packet. own choice */
const LEAST_SQUEEZED = 1_024;
const SQUEEZABLE = /^(application\/(json|xml|[\w.-]+\+json)|text\/(?!event-stream))/;
/** Whether a request takes gzip. @source RFC 9110 §12.5.3 */
const TAKES_GZIP = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i;
/** own choice: nine tenths of the gain of the default level for half of its time. */
const LEVEL = 3;
const squeeze = promisify(gzip);

/**
 * Sends an answer: 304 where the request names what it would get, gzip in another thread where it is taken and worth it.
 * Texts go out past koa in one piece; koa sends files, and ends them when the client goes away.
 */
export async function send(ctx: Context, answer: Answer): Promise<void> {
  const headers = headersOf(answer, ctx.state.requestId);
  const isRead = (ctx.method === "GET" || ctx.method === "HEAD") && (answer.status ?? 200) === 200;
  if (isRead && typeof answer.body === "string" && headers["cache-control"] === "no-store") {
    headers.etag = tagOf(headers.etag === undefined ? null : String(headers.etag), answer.body);
  }
  if (isRead && isNamed(ctx.req.headers["if-none-match"], headers.etag)) return sendUnchanged(ctx, answer, headers);
  if (answer.body instanceof Readable) return sendStream(ctx, answer, headers);
  ctx.respond = false;
  let { body } = answer;
  if (body !== null && isSqueezable(body, headers)) {
    headers.vary = varying(headers.vary);
    if (TAKES_GZIP.test(String(ctx.req.headers["accept-encoding"] ?? ""))) {
      // Who asks for the head alone is told of the form that would be sent, but for its length.
      body = ctx.method === "HEAD" ? null : await squeeze(body, { level: LEVEL });
      headers["content-encoding"] = "gzip";
      // The same for both forms, so it no longer names the bytes.
      if (headers.etag !== undefined) headers.etag = `W/${headers.etag}`;
    }
  }
  if (body !== null) headers["content-length"] = Buffer.byteLength(body);
  ctx.res.writeHead(answer.status ?? 200, headers).end(body);
}

function headersOf({ headers, type, body }: Answer, requestId: string): Headers {
  const all: Headers = {
    "x-request-id": requestId,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  if (body !== null) all["content-type"] = type ?? "application/json; charset=utf-8";
  for (const name in headers) all[name.toLowerCase()] = headers[name] as string;
  return all;
}

function sendUnchanged(ctx: Context, { body }: Answer, headers: Headers): void {
  if (body instanceof Readable) body.destroy();
  const { "content-type": _type, "content-length": _length, ...rest } = headers;
  ctx.respond = false;
  ctx.res.writeHead(304, rest).end();
}

function sendStream(ctx: Context, { status = 200, body }: Answer, headers: Headers): void {
  ctx.status = status;
  for (const [name, value] of Object.entries(headers)) ctx.set(name, String(value));
  ctx.body = body;
}

function varying(vary: string | number | undefined): string {
  if (vary === undefined) return "Accept-Encoding";
  return /accept-encoding/i.test(String(vary)) ? String(vary) : `${vary}, Accept-Encoding`;
}

function isSqueezable(body: string | Uint8Array, headers: Headers): boolean {
  if (body.length < LEAST_SQUEEZED || headers["content-encoding"] !== undefined) return false;
  return SQUEEZABLE.test(String(headers["content-type"]));
}
