import { describe, expect, it } from "vitest";
import { methodsOf } from "../../src/schema/catalogue.ts";
import type { AnyResource, ResourcePath } from "../../src/schema/resource.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { expectError } from "./resource-suite.ts";
import { openSampleFixture } from "./sample-fixture.ts";

const { api, rows } = openSampleFixture();

/** Rooms work on them as soon as they are made, or make them themselves. */
const WORKED_ON = new Set(["notifications", "scenario-notifications", "load-runs", "alarm-events"]);

const declarations = (await loadDeclarations([BUILT_IN_DECLARATIONS])).filter(({ name }) => !WORKED_ON.has(name));
const pathsWith = (method: "put" | "delete"): [at: string, resource: AnyResource, path: ResourcePath][] =>
  declarations.flatMap((resource) =>
    resource.paths
      .filter((path) => methodsOf(path).includes("post") && methodsOf(path).includes(method))
      .map((path): [string, AnyResource, ResourcePath] => [path.at, resource, path]),
  );

/** A new row; the collection that it lies in, and what a user without rights gets to hear. */
async function placed(resource: AnyResource, path: ResourcePath): Promise<{ collection: string; id: string }> {
  const place = await rows.place(path, resource);
  return { collection: place.collection, id: (await rows.post(resource, place)).body.id };
}

/** @source service-api.md, Reference catalogue operations: the id is required; decisions.md 1, PUT */
describe("a row is deleted by its id in the query", () => {
  it.each(pathsWith("delete"))("%s", async (_at, resource, path) => {
    const { collection, id } = await placed(resource, path);
    const stranger = await api().user("Stranger");
    expectError(await api().call("DELETE", collection), 400, "required", "id");
    expectError(await api().call("DELETE", `${collection}?id=${UNKNOWN_ID}`), 404, "not-found");
    expectError(await api().call("DELETE", `${collection}?id=${id}`, { token: null }), 401, "unauthorized");
    expect([403, 404]).toContain(
      (await api().call("DELETE", `${collection}?id=${id}`, { token: stranger.token })).status,
    );
    expect((await api().call("GET", `${collection}/${id}`)).status).toBe(200);
    const gone = await api().call("DELETE", `${collection}?id=${id}`);
    expect([gone.status, gone.body]).toEqual([
      200,
      { status: 200, message: `deleted ${id}`, resources: expect.arrayContaining([{ id }]) },
    ]);
    expectError(await api().call("GET", `${collection}/${id}`), 404, "not-found");
  });
});

describe("a row is changed by its id in the body", () => {
  it.each(pathsWith("put"))("%s", async (_at, resource, path) => {
    const { collection, id } = await placed(resource, path);
    const shown = (await api().call("GET", `${collection}/${id}`)).body;
    const stranger = await api().user("Stranger");
    expectError(await api().call("PUT", collection, { json: {} }), 400, "required", "id");
    expectError(await api().call("PUT", collection, { json: { id: UNKNOWN_ID } }), 404, "not-found");
    expect([403, 404]).toContain((await api().call("PUT", collection, { json: { id }, token: stranger.token })).status);
    const changed = await api().call("PUT", collection, { json: { id, noSuchField: 1 } });
    expect(changed.status).toBe(200);
    expect((await api().call("GET", `${collection}/${id}`)).body).toEqual(shown);
  });
});
