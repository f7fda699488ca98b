import { createHash } from "node:crypto";
import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { notFound } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import type { Action, PublicRequest } from "../action.ts";
import { PAGE_SECURITY_HEADERS } from "../security-headers.ts";
import { renderDocsFamily, renderDocsOverview } from "./docs-page.ts";
import type { OpenApiDocument } from "./document.ts";

type Describe = () => Generator<undefined, OpenApiDocument, undefined>;

/** Longest time that describing keeps the event loop. */
const CHUNK_MS = 5;

interface RenderedDocument {
  document: OpenApiDocument;
  text: string;
  etag: string;
}

/**
 * The OpenAPI document and its HTML pages; public, because they contain no data of the appliance. `describe` is
 * called once, on the first request.
 */
export function openApiActions(describe: Describe): Action[] {
  let written: Promise<RenderedDocument> | null = null;
  const documentOf = ({ deps }: PublicRequest): Promise<RenderedDocument> => {
    written ??= write(describe, deps.clock);
    return written;
  };
  return [
    {
      method: "get",
      at: "openapi.json",
      permission: "open",
      doc: "Returns the OpenAPI 3.1 document of this API.",
      response: { kind: "json", schema: { type: "object", required: ["openapi", "info", "paths", "components"] } },
      async handle(request) {
        const { text, etag } = await documentOf(request);
        return { headers: { ETag: etag, "Cache-Control": "no-cache" }, body: text };
      },
    },
    {
      method: "get",
      at: "docs",
      permission: "open",
      doc: "Lists the resource families of the API as HTML.",
      response: { kind: "bytes", types: ["text/html"] },
      handle: async (request) => pageResponse(renderDocsOverview((await documentOf(request)).document)),
    },
    {
      method: "get",
      at: "docs/{family}",
      permission: "open",
      doc: "Documents one resource family of the API as HTML.",
      response: { kind: "bytes", types: ["text/html"] },
      async handle(request) {
        const page = renderDocsFamily((await documentOf(request)).document, request.params.family ?? "");
        if (page === null) throw notFound();
        return pageResponse(page);
      },
    },
  ];
}

async function write(describe: Describe, clock: Clock): Promise<RenderedDocument> {
  const steps = describe();
  let startedAt = clock.monotonicMs();
  let step = steps.next();
  for (; !step.done; step = steps.next()) {
    if (clock.monotonicMs() - startedAt < CHUNK_MS) continue;
    await yieldToEventLoop(clock);
    startedAt = clock.monotonicMs();
  }
  const document = step.value;
  await yieldToEventLoop(clock);
  const text = JSON.stringify(document);
  await yieldToEventLoop(clock);
  const etag = `"${createHash("sha256").update(text).digest("hex").slice(0, 16)}"`;
  return { document, text, etag };
}

function pageResponse(html: string): HttpResponse {
  return {
    headers: { ...PAGE_SECURITY_HEADERS, "Cache-Control": "no-cache" },
    type: "text/html; charset=utf-8",
    body: html,
  };
}
