import type { IncomingMessage } from "node:http";
import { CallerError, notFound } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { readUpload } from "./body/upload-stream.ts";
import type { ApiDeps } from "./dependencies.ts";
import { clientAddress } from "./forwarded-client.ts";

const MAX_BODY_BYTES = 65_536;
/** Hop-by-hop headers and headers set by the server. @source RFC 9110 §7.6.1 */
const HOP_BY_HOP_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "content-length",
]);

/**
 * Forwards a request below `/x/<plugin>` to the plugin; `rest` is the path after `/x/`. Throws not-found, too-large,
 * starting.
 */
export async function routeToPlugin(
  request: IncomingMessage,
  rest: string,
  search: string,
  { plugins, clock }: ApiDeps,
): Promise<HttpResponse> {
  const slash = rest.indexOf("/");
  const plugin = slash < 0 ? rest : rest.slice(0, slash);
  const path = slash < 0 ? "/" : rest.slice(slash);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of readUpload(request, clock)) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES)
      throw new CallerError(
        "too-large",
        sentence("upload.the-body-must-have-at-most-max-bytes", { max: MAX_BODY_BYTES }),
      );
    chunks.push(chunk);
  }
  // Session cookies are never passed to plugins.
  const { cookie: _cookie, ...headersGiven } = request.headers;
  const response = await plugins.handleRequest(plugin, {
    method: request.method ?? "GET",
    url: search === "" ? path : `${path}?${search}`,
    headers: headersGiven,
    body: Buffer.concat(chunks),
    remoteAddress: clientAddress(request) ?? "",
  });
  if (!response) throw notFound();
  const headers = Object.entries(response.headers ?? {}).filter(
    ([name]) => !HOP_BY_HOP_HEADERS.has(name.toLowerCase()),
  );
  const type = headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "text/plain; charset=utf-8";
  return { status: response.status, headers: Object.fromEntries(headers), type, body: response.body ?? null };
}
