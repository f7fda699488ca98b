import type { Clock } from "../../lib/clock.ts";
import { notFound } from "../../lib/errors.ts";
import { createTimeSlice } from "../../lib/time-slice.ts";
import type { Action, PublicRequest } from "../action.ts";
import { type PreparedResponse, prepareResponse } from "../prepared-response.ts";
import { PAGE_SECURITY_HEADERS } from "../security-headers.ts";
import { renderDocsFamily, renderDocsOverview } from "./docs-page.ts";
import type { OpenApiDocument } from "./document.ts";

type Describe = () => Generator<undefined, OpenApiDocument, undefined>;

interface PreparedDocument {
  document: OpenApiDocument;
  response: PreparedResponse;
  /** HTML pages by family; null: the overview. */
  pages: Map<string | null, Promise<PreparedResponse>>;
}

/**
 * The OpenAPI document and its HTML pages; public, because they contain no data of the appliance. `describe` is
 * called once, on the first request; each answer is prepared once.
 */
export function openApiActions(describe: Describe): Action[] {
  let prepared: Promise<PreparedDocument> | null = null;
  const documentOf = ({ deps }: PublicRequest): Promise<PreparedDocument> => {
    prepared ??= prepare(describe, deps.clock);
    return prepared;
  };
  const pageResponse = async (request: PublicRequest, family: string | null) => {
    const { document, pages } = await documentOf(request);
    let page = pages.get(family);
    if (!page) {
      const html = family === null ? renderDocsOverview(document) : renderDocsFamily(document, family);
      if (html === null) throw notFound();
      page = prepareResponse(html, "text/html; charset=utf-8", PAGE_SECURITY_HEADERS);
      pages.set(family, page);
    }
    return (await page)(request.header("accept-encoding") ?? undefined);
  };
  return [
    {
      method: "get",
      at: "openapi.json",
      permission: "open",
      doc: "Returns the OpenAPI 3.1 document of this API.",
      response: { kind: "json", schema: { type: "object", required: ["openapi", "info", "paths", "components"] } },
      async handle(request) {
        const { response } = await documentOf(request);
        return response(request.header("accept-encoding") ?? undefined);
      },
    },
    {
      method: "get",
      at: "docs",
      permission: "open",
      doc: "Lists the resource families of the API as HTML.",
      response: { kind: "bytes", types: ["text/html"] },
      handle: (request) => pageResponse(request, null),
    },
    {
      method: "get",
      at: "docs/{family}",
      permission: "open",
      doc: "Documents one resource family of the API as HTML.",
      response: { kind: "bytes", types: ["text/html"] },
      handle: (request) => pageResponse(request, request.params.family ?? ""),
    },
  ];
}

async function prepare(describe: Describe, clock: Clock): Promise<PreparedDocument> {
  const document = await inSlices(describe(), clock);
  const text = await inSlices(stringifyInSteps(document), clock);
  const response = await prepareResponse(text, "application/json; charset=utf-8");
  return { document, response, pages: new Map() };
}

async function inSlices<T>(steps: Generator<undefined, T, undefined>, clock: Clock): Promise<T> {
  const slice = createTimeSlice(clock);
  let step = steps.next();
  for (; !step.done; step = steps.next()) {
    if (slice.isOver()) await slice.next();
  }
  return step.value;
}

/** `JSON.stringify` of a large object, one member of its first three levels at a time. */
function* stringifyInSteps(value: object, depth = 3): Generator<undefined, string, undefined> {
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const isNested = depth > 1 && typeof member === "object" && member !== null && !Array.isArray(member);
    const text: string = isNested ? yield* stringifyInSteps(member, depth - 1) : JSON.stringify(member);
    members.push(`${JSON.stringify(name)}:${text}`);
    yield;
  }
  return `{${members.join(",")}}`;
}
