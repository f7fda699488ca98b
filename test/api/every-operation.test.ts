import { describe, expect, it } from "vitest";
import type { Action } from "../../src/http/action.ts";
import { takesWarnings } from "../../src/http/openapi/operations.ts";
import { servedActions } from "../../src/http/served-actions.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { expectError } from "./resource-suite.ts";
import { openSampleFixture } from "./sample-fixture.ts";

const { api } = openSampleFixture();
const served = servedActions(createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])));
/** By method and path; an action that replaces a generic operation is the later one. */
const operations = [...new Map(served.map((action) => [`${action.method} ${action.at}`, action])).values()].filter(
  ({ permission }) => permission !== "open",
);

const pathOf = ({ at, outsideVersion }: Action): string =>
  `${outsideVersion ? "/api/" : "/"}${at.replace(/\{\w+\}/g, UNKNOWN_ID)}`;
const named = operations.map((action) => [`${action.method.toUpperCase()} ${action.at}`, action] as const);

describe("an unknown query parameter is refused when the caller is strict", () => {
  it.each(named)("of %s", async (_name, action) => {
    const path = `${pathOf(action)}?strict=true&noSuchParameter=1`;
    expectError(await api().call(action.method.toUpperCase(), path), 400, "invalid-value", "noSuchParameter");
  });
});

describe("an unknown body field is refused when the caller is strict", () => {
  it.each(named.filter(([, { method, binaryTypes }]) => method !== "get" && !binaryTypes))(
    "of %s",
    async (_name, action) => {
      const path = `${pathOf(action)}?strict=true`;
      const answer = await api().call(action.method.toUpperCase(), path, { json: { noSuchField: 1 } });
      expectError(answer, 400, "invalid-value", "noSuchField");
    },
  );
});

describe("an unknown query parameter is named otherwise", () => {
  it.each(named.filter(([, action]) => action.method === "get" && takesWarnings(action)))(
    "by %s",
    async (_n, action) => {
      const { status, body } = await api().call("GET", `${pathOf(action)}?noSuchParameter=1`);
      if (status === 200)
        expect(body.warnings).toMatchObject([{ code: "unknown-parameter", parameter: "noSuchParameter" }]);
      else expect([404, 400, 409, 503]).toContain(status);
    },
  );
});

const lists = named.flatMap(([name, { at, outsideVersion, response, method }]) =>
  response.kind === "list" && method === "get" ? [[name, { at, outsideVersion }, response.resource] as const] : [],
);

describe("every attribute filters, or is refused as a filter", () => {
  it.each(lists)("of %s", async (_name, { at, outsideVersion }, { fields }) => {
    const path = pathOf({ at, outsideVersion } as Action);
    const parents = [...at.matchAll(/\{(\w+)\}/g)].map(([, parent]) => parent);
    const shown = Object.entries(fields).filter(([field, { kind }]) => kind !== "internal" && !parents.includes(field));
    const ignored: string[] = [];
    for (const [field] of shown) {
      const { status, body } = await api().call("GET", `${path}?${field}=no-such-value-7`);
      const isRefused = status === 400 && body.errors?.[0]?.field === field;
      // Text is compared: no row has this value, which is false as a boolean. A list of a missing parent is not found.
      const rows: Record<string, unknown>[] = body.data ?? [];
      const isFiltered = status === 200 && rows.every((row) => row[field] === false) && body.warnings === undefined;
      if (!isRefused && !isFiltered && status !== 404)
        ignored.push(`${field}: ${status} ${JSON.stringify(body.errors ?? body.warnings)}`);
    }
    expect(ignored).toEqual([]);
  });
});
