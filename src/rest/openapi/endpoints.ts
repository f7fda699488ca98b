import { createHash } from "node:crypto";
import { type Clock, nextTurn } from "../../base/clock.ts";
import { notFound } from "../../base/errors.ts";
import type { Action, Answer, OpenRequest } from "../action.ts";
import { PAGE_SECURITY } from "../page-security.ts";
import type { OpenApiDocument } from "./document.ts";
import { familyPage, overviewPage } from "./page.ts";

type Describe = () => Generator<undefined, OpenApiDocument, undefined>;

/** Longest time that describing keeps the event loop. */
const SLICE_MS = 5;

interface Written {
  document: OpenApiDocument;
  text: string;
  etag: string;
}

/**
 * The API's description, as a document for programs and as pages for people; both need no token, since they hold nothing
 * of this appliance's data. `describe` is called once, when first asked for. own choice: the paths
 */
export function documentActions(describe: Describe): Action[] {
  let written: Promise<Written> | null = null;
  const whole = ({ needs }: OpenRequest): Promise<Written> => {
    written ??= write(describe, needs.clock);
    return written;
  };
  return [
    {
      method: "get",
      at: "openapi.json",
      permission: "open",
      doc: "This description, as an OpenAPI 3.1 document.",
      answers: { kind: "json", schema: { type: "object", required: ["openapi", "info", "paths", "components"] } },
      async handle(request) {
        const { text, etag } = await whole(request);
        return { headers: { ETag: etag, "Cache-Control": "no-cache" }, body: text };
      },
    },
    {
      method: "get",
      at: "docs",
      permission: "open",
      doc: "The families of the API, for people.",
      answers: { kind: "bytes", types: ["text/html"] },
      handle: async (request) => pageAnswer(overviewPage((await whole(request)).document)),
    },
    {
      method: "get",
      at: "docs/{family}",
      permission: "open",
      doc: "One family of the API, for people.",
      answers: { kind: "bytes", types: ["text/html"] },
      async handle(request) {
        const page = familyPage((await whole(request)).document, request.params.family ?? "");
        if (page === null) throw notFound();
        return pageAnswer(page);
      },
    },
  ];
}

async function write(describe: Describe, clock: Clock): Promise<Written> {
  const steps = describe();
  let began = clock.monotonicMs();
  let step = steps.next();
  for (; !step.done; step = steps.next()) {
    if (clock.monotonicMs() - began < SLICE_MS) continue;
    await nextTurn(clock);
    began = clock.monotonicMs();
  }
  const document = step.value;
  await nextTurn(clock);
  const text = JSON.stringify(document);
  await nextTurn(clock);
  const etag = `"${createHash("sha256").update(text).digest("hex").slice(0, 16)}"`;
  return { document, text, etag };
}

function pageAnswer(html: string): Answer {
  return { headers: { ...PAGE_SECURITY, "Cache-Control": "no-cache" }, type: "text/html; charset=utf-8", body: html };
}
