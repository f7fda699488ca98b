import { beforeAll, describe, expect, it } from "vitest";
import { canonicalPath, createCatalogue, pathParams } from "../../src/schema/catalogue.ts";
import type { AnyResource } from "../../src/schema/resource.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { expectError } from "./resource-suite.ts";
import { openSampleFixture } from "./sample-fixture.ts";

let north: string;
let south: string;
const { api, rows } = openSampleFixture();
beforeAll(async () => {
  [north, south] = [await domain("North"), await domain("South")];
});

const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
const families = catalogue.all.filter(
  (resource) => resource.scope === "domain" && pathParams(canonicalPath(resource)).length === 0,
);

async function domain(name: string): Promise<string> {
  return (await api().call("POST", "/domains", { json: { name } })).body.id;
}

/** Sending them is the test of others. */
const SENT: Readonly<Record<string, object>> = {
  notifications: { stage: "draft" },
  "scenario-notifications": {},
};

async function aRow(resource: AnyResource): Promise<string> {
  const sent = SENT[resource.name];
  if (!sent) return (await rows.post(resource, await rows.place(canonicalPath(resource), resource))).body.id;
  const scenarios = catalogue.byName("scenarios");
  const input = resource.name === "notifications" ? { subject: "Sample" } : { scenarioId: await aRow(scenarios) };
  return (await api().store.create(resource, input, api().system, sent as object)).id;
}

/** @source service-api.md, Domain membership paths */
describe("members of domains, from both sides", () => {
  it.each(families.map((resource) => [canonicalPath(resource).at, resource] as const))(
    "%s",
    async (family, resource) => {
      const id = await aRow(resource);
      const [members, places] = [`/domains/${north}/${family}`, `/${family}/${id}/domains`];
      const stranger = await api().user("Stranger");
      for (const [collection, member] of [
        [members, id],
        [places, north],
      ] as const) {
        expectError(await api().call("GET", `${collection}/${member}`), 404, "not-found");
        expectError(await api().call("POST", collection, { json: {} }), 400, "required", "id");
        expectError(await api().call("POST", collection, { json: { id: "x" } }), 400, "invalid-value", "id");
        expectError(await api().call("POST", collection, { json: { id: member } }), 400, "invalid-value", "demote");
        expectError(await api().call("DELETE", `${collection}/${UNKNOWN_ID}`), 404, "not-found");
        const denied = await api().call("POST", collection, {
          json: { id: member, demote: true },
          token: stranger.token,
        });
        expect([403, 404]).toContain(denied.status);
      }

      const joined = await api().call("POST", members, { json: { id, demote: true } });
      expect([joined.status, joined.body]).toEqual([
        200,
        expect.objectContaining({ id, permissions: ["get", "delete"] }),
      ]);
      const one = await api().call("GET", `${members}/${id}`);
      expect([one.status, one.body.id]).toEqual([200, id]);
      const place = await api().call("GET", `${places}/${north}`);
      expect([place.status, place.body]).toEqual([200, expect.objectContaining({ id: north, name: "North" })]);
      expectError(await api().call("DELETE", `${members}/${id}`), 409, "conflict");

      const second = await api().call("POST", places, { json: { id: south } });
      expect([second.status, second.body]).toEqual([200, expect.objectContaining({ id: south, name: "South" })]);
      const listed = async (path: string) =>
        (await api().call("GET", path)).body.data.map((row: { id: string }) => row.id);
      expect((await listed(places)).sort()).toEqual([north, south].sort());
      expect(await listed(`/domains/${south}/${family}?ids[]=${id}`)).toEqual([id]);
      const left = await api().call("DELETE", `${members}/${id}`);
      expect([left.status, left.body]).toEqual([200, expect.objectContaining({ message: `deleted ${id}` })]);
      expect(await listed(places)).toEqual([south]);

      await api().call("POST", places, { json: { id: north } });
      const gone = await api().call("DELETE", `${places}/${south}`);
      expect([gone.status, gone.body]).toEqual([200, expect.objectContaining({ message: `deleted ${south}` })]);
      expect(await listed(places)).toEqual([north]);
      expect((await api().call("DELETE", `${places}/${north}`, { token: stranger.token })).status).toBeGreaterThan(402);
    },
  );
});
