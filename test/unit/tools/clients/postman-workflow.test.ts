import { expect, it } from "vitest";
import { describeServedApi } from "../../../../src/http/served-actions.ts";
import { createCatalogue } from "../../../../src/schema/catalogue.ts";
import { writePostmanCollection } from "../../../../src/tools/clients/postman-collection.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../../src/wiring/load-declarations.ts";
import { startTestDaemon } from "../../../support/daemon.ts";

interface CollectionRequest {
  name: string;
  request: {
    method: string;
    header: { key: string; value: string }[];
    body?: { raw: string };
    url: { raw: string; variable: { key: string; value: string }[] };
  };
  event: { script: { exec: string[] } }[];
}

/** Runs a folder as such programs do: variables are filled in, scripts keep ids for the next requests. */
it("the basic workflow of the collection is accepted, request by request", async () => {
  const document = describeServedApi(createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])));
  const { item, variable } = JSON.parse(writePostmanCollection(document));
  const [workflow] = item as [{ name: string; item: CollectionRequest[] }];
  expect([workflow.name, workflow.item.length]).toEqual(["Basic workflow", 8]);
  const daemon = await startTestDaemon();
  try {
    const known = new Map(variable.map(({ key, value }: { key: string; value: string }) => [key, value]));
    known.set("url", daemon.url).set("$timestamp", "1893456000");
    const filled = (text: string): string => text.replace(/\{\{(\$?\w+)\}\}/g, (_all, name) => String(known.get(name)));
    for (const { name, request, event } of workflow.item) {
      const url = request.url.variable.reduce(
        (text, { key, value }) => text.replace(`:${key}`, value),
        request.url.raw,
      );
      const response = await fetch(filled(url), {
        method: request.method,
        headers: {
          authorization: `Bearer ${daemon.first.token}`,
          ...Object.fromEntries(request.header.map(({ key, value }) => [key, value])),
        },
        body: request.body ? filled(request.body.raw) : null,
      });
      const body = (await response.json()) as { id?: string; total?: number };
      expect([name, response.status, response.status === 200 ? "" : body]).toEqual([name, 200, ""]);
      for (const line of event.flatMap(({ script }) => script.exec)) {
        const [, kept] = /^pm\.collectionVariables\.set\("(\w+)", pm\.response\.json\(\)\.id\);$/.exec(line) ?? [];
        if (kept !== undefined) known.set(kept, body.id);
      }
      if (name.startsWith("8.")) expect(body.total).toBe(1);
    }
  } finally {
    await daemon.stop();
  }
});
