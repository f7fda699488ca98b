import { describe, expect, it } from "vitest";
import { type DependentsList, dependentsLists } from "../../src/http/rows/dependents.ts";
import { canonicalPath, createCatalogue } from "../../src/schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { expectError } from "./resource-suite.ts";
import { openSampleFixture } from "./sample-fixture.ts";

const { api, rows } = openSampleFixture();

const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));

/** Makes a row that refers by the field; answers as which it is listed, and what it refers to. */
async function referring({ from, field, target }: DependentsList): Promise<{ resourceId: string; referred: string }> {
  const place = await rows.place(canonicalPath(from), from);
  if (from.name === "ring-lists" && field !== "messageTemplateIds") {
    // A ring list refers to groups and lists by its rings, which need none.
    const referred = (await rows.post(target, await rows.place(canonicalPath(target), target))).body.id;
    const { entries, ...input } = (await rows.input(from, place)) as { entries: object[] };
    const json = { ...input, entries: entries.map((entry) => ({ ...entry, [field]: [referred] })) };
    return { resourceId: (await api().call("POST", place.collection, { json })).body.id, referred };
  }
  const made = (await rows.post(from, place)).body;
  // Whoever is bound to a site's role refers as that role.
  return { resourceId: from.name === "site-recipients" ? made.siteRoleId : made.id, referred: [made[field]].flat()[0] };
}

describe("who refers to a row is listed there", () => {
  it.each(
    dependentsLists(catalogue).map((each): [string, DependentsList] => [`${each.target.name} ${each.name}`, each]),
  )("%s", async (_title, dependents) => {
    const at = (id: string) => `/${canonicalPath(dependents.target).at}/${id}/${dependents.name}`;
    const { resourceId, referred } = await referring(dependents);
    const { status, body } = await api().call("GET", `${at(referred)}?limit=1000`);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["total", "partial", "previous", "next", "data"]);
    const entries = body.data.filter((entry: { resourceId: string }) => entry.resourceId === resourceId);
    expect(entries).toEqual([expect.objectContaining({ resourceId, createdAt: expect.stringMatching(/Z$/) })]);

    const stranger = await api().user("Stranger");
    expectError(await api().call("GET", at(referred), { token: null }), 401, "unauthorized");
    expect([403, 404]).toContain((await api().call("GET", at(referred), { token: stranger.token })).status);
    expectError(await api().call("GET", at(UNKNOWN_ID)), 404, "not-found");
    expectError(await api().call("GET", `${at(referred)}?limit=0`), 400, "invalid-value", "limit");
  });
});

describe("a copy is one of its own", () => {
  const cloned = catalogue.all.filter(({ clone }) => clone).map((each) => [each.name, each] as const);
  it.each(cloned)("%s", async (_name, resource) => {
    const place = await rows.place(canonicalPath(resource), resource);
    const made = (await rows.post(resource, place)).body;
    const at = `${place.collection}/${made.id}/clone`;
    const stranger = await api().user("Stranger", `get ${place.collection}/*`);
    expect([403, 404]).toContain((await api().call("POST", at, { token: stranger.token })).status);
    expectError(await api().call("POST", at.replace(made.id, UNKNOWN_ID)), 404, "not-found");
    const { status, body } = await api().call("POST", at);
    expect([status, body.name]).toEqual([200, `${made.name} (Copy)`]);
    expect(body.id).not.toBe(made.id);
    expect((await api().call("GET", `${place.collection}/${body.id}`)).body.name).toBe(`${made.name} (Copy)`);
  });
});
