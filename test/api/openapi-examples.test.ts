import { describe, expect, it } from "vitest";
import { typeName } from "../../src/http/openapi/operation-names.ts";
import { methodsOf } from "../../src/schema/catalogue.ts";
import type { AnyResource } from "../../src/schema/resource.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { isSampleReference, type SampleOverrides, writableSampleFields } from "../support/sample-values.ts";
import { openSampleFixture } from "./sample-fixture.ts";
import { SAMPLE_OVERRIDES } from "./sample-overrides.ts";
import { requestOptionsFor } from "./sample-rows.ts";

type Body = Record<string, unknown>;
type Document = { components: { schemas: Record<string, { examples: [Body] } | undefined> } };

/** What they need is a state of others: somebody who is reached, an alarm of one kind that is active. */
const NEEDS_A_SCENE = new Set(["notifications", "scenario-notifications", "alarm-events"]);

const { api, rows } = openSampleFixture();
const declarations = await loadDeclarations([BUILT_IN_DECLARATIONS]);
const made = declarations.flatMap((resource) => {
  const path = resource.paths.find((each) => methodsOf(each).includes("post"));
  return path && !NEEDS_A_SCENE.has(resource.name) ? [{ name: resource.name, resource, path }] : [];
});

function exampleIn({ components }: Document, resource: { name: string }, kind: "New" | "Change" = "New"): Body {
  const { id: _id, ...example } = components.schemas[`${typeName(resource.name)}${kind}`]?.examples[0] ?? {};
  return example;
}

/** Ids of an example are those of nobody: rows that are there stand in for them. */
function withRows(resource: AnyResource, example: Body, there: Body): Body {
  const isAboutRows = (name: string, kind: string): boolean =>
    kind === "ref" ||
    kind === "many" ||
    isSampleReference((SAMPLE_OVERRIDES as SampleOverrides)[`${resource.name}.${name}`]);
  const names = writableSampleFields(resource).flatMap(([name, { kind }]) => (isAboutRows(name, kind) ? [name] : []));
  const isEmpty = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);
  const others = names.filter((name) => !isEmpty(example[name])).map((name) => [name, there[name] ?? null]);
  return { ...example, ...Object.fromEntries(others) };
}

describe("the API accepts the documented example", () => {
  it.each(made)("for $name", async ({ resource, path }) => {
    const place = await rows.place(path, resource);
    const document = (await api().call("GET", "/openapi.json")).body;
    const example = withRows(resource, exampleIn(document, resource), await rows.input(resource, place));
    const answer = await api().call(
      "POST",
      place.collection,
      requestOptionsFor(resource, { ...example, ...place.parents }),
    );
    expect([answer.status, answer.status === 200 ? "" : answer.text]).toEqual([200, ""]);
    if (!methodsOf(path).includes("put")) return;
    const change = withRows(resource, exampleIn(document, resource, "Change"), example);
    const changed = await api().call("PUT", `${place.collection}/${answer.body.id}`, {
      json: { ...change, ...place.parents },
    });
    expect([changed.status, changed.status === 200 ? "" : changed.text]).toEqual([200, ""]);
  });

  it("for notifications", async () => {
    const daemon = await startTestDaemon();
    try {
      const group = await daemon.call<{ id: string }>("POST", "/device-groups", { name: "All", filterType: "ACCEPT" });
      const document = (await daemon.call<Document>("GET", "/openapi.json")).body;
      const [resource] = declarations.filter(({ name }) => name === "notifications") as [AnyResource];
      const example = exampleIn(document, resource);
      const sent = { ...example, deviceGroupIds: [group.body.id] };
      const { status, body } = await daemon.call("POST", "/notifications", sent);
      expect([status, status === 200 ? "" : body]).toEqual([200, ""]);
    } finally {
      await daemon.stop();
    }
  });
});
