import { beforeAll, describe, expect, it } from "vitest";
import { onPremisesPaths } from "../../src/http/on-premises-paths.ts";
import { servedActions } from "../../src/http/served-actions.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import { canonicalPath, createCatalogue, methodsOf } from "../../src/schema/catalogue.ts";
import type { AnyResource, ResourcePath } from "../../src/schema/resource.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { fileFields, sampleFile, UNKNOWN_ID } from "../support/sample-values.ts";
import type { FormEntries } from "./http-client.ts";
import { expectError } from "./resource-suite.ts";
import { openSampleFixture } from "./sample-fixture.ts";
import type { SampleCollection } from "./sample-rows.ts";

let hall: string;
let annex: string;
const { api, rows } = openSampleFixture({ extensions: async () => ONPREM_EXTENSION_ID });
beforeAll(async () => {
  const proxy = { name: "onprem", type: "endpoint-proxy" };
  await api().store.create(extensions, proxy, api().system, { id: ONPREM_EXTENSION_ID });
  hall = (await api().call("POST", "/domains", { json: { name: "Hall" } })).body.id;
  annex = (await api().call("POST", "/domains", { json: { name: "Annex" } })).body.id;
});

// The prefix leaves the extension of the appliances out.
const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
const actions = servedActions(catalogue);

/** A path below `/v1/` as it stands below the prefix, its placeholders filled. */
function prefixed(path: ResourcePath, { parents }: SampleCollection): string {
  const [alias] = onPremisesPaths(path);
  return `/api/${filled(alias?.at ?? "", parents)}`;
}

function filled(at: string, ids: Readonly<Record<string, string>>): string {
  return at.replace(/\{(\w+)\}/g, (whole, name: string) => ids[name] ?? whole);
}

const families = catalogue.all.flatMap((resource) =>
  resource.paths
    .filter((path) => onPremisesPaths(path).length > 0)
    .map((path): [string, AnyResource, ResourcePath] => [path.at, resource, path]),
);
const written = families.filter(([, , path]) => methodsOf(path).includes("post"));

/** Only people make such rows; here somebody else stands for them. */
const declining = ({ fields }: AnyResource) => (fields.userId ? { userId: api().adminId } : {});

/** @source service-api.md, Versioning 3; decisions.md 13 */
describe("a family of the appliance is the same rows below its prefix", () => {
  it.each(families)("%s is read", async (_at, resource, path) => {
    const place = await rows.place(path, resource);
    const { id } = methodsOf(path).includes("post")
      ? (await rows.post(resource, place)).body
      : await api().store.create(resource, { ...place.parents, ...declining(resource) }, api().system);
    const at = prefixed(path, place);
    const [listed, one] = [await api().call("GET", `${at}?ids[]=${id}`), await api().call("GET", `${at}/${id}`)];
    expect([listed.status, listed.body]).toEqual([200, expect.objectContaining({ total: 1 })]);
    expect(listed.body).toEqual((await api().call("GET", `${place.collection}?ids[]=${id}`)).body);
    expect([one.status, one.body]).toEqual([200, (await api().call("GET", `${place.collection}/${id}`)).body]);
    expectError(await api().call("GET", `${at}/${UNKNOWN_ID}`), 404, "not-found");
    expectError(await api().call("GET", at, { token: null }), 401, "unauthorized");
  });

  it.each(written)("%s is made, changed and deleted", async (_at, resource, path) => {
    const place = await rows.place(path, resource);
    const at = prefixed(path, place);
    const make = async () => api().call("POST", at, { json: await rows.input(resource, place) });
    const made = await make();
    const { id } = made.body;
    expect([made.status, id]).toEqual([200, expect.any(String)]);
    const shown = await api().call("GET", `${place.collection}/${id}`);
    expect(shown.body.createdAt).toBe(made.body.createdAt);
    expectError(await api().call("POST", at, { json: [] }), 400, "invalid-value");
    const stranger = await api().user("Stranger");
    for (const sending of [{ json: { id } }, { json: { id }, token: stranger.token }]) {
      if (!methodsOf(path).includes("put")) continue;
      const answers = [await api().call("PUT", `${at}/${id}`, sending), await api().call("PUT", at, sending)];
      for (const { status } of answers) expect("token" in sending ? status > 402 : status === 200).toBe(true);
    }
    if (!methodsOf(path).includes("delete")) return;
    for (const gone of [`${at}/${id}`, `${at}?id=${(await make()).body.id}`]) {
      expect([403, 404]).toContain((await api().call("DELETE", gone, { token: stranger.token })).status);
      const { status, body } = await api().call("DELETE", gone);
      expect([status, body.message]).toEqual([200, `deleted ${gone.split(/[/=]/).at(-1)}`]);
    }
    expectError(await api().call("GET", `${place.collection}/${id}`), 404, "not-found");
  });
});

/** What lies below a row there, beside rows. */
const below = actions.flatMap((action) => {
  const family = catalogue.all.find((each) => action.at.startsWith(`${each.paths[0]?.at}/{${each.idParam}}/`));
  const isRow = families.some(([at]) => action.at === at || (action.at.startsWith(`${at}/{`) && at.includes("}")));
  return family && !isRow && onPremisesPaths(action).length > 0 ? [{ action, family }] : [];
});

/** Ids for the placeholders of a path below a new row. */
async function idsBelow(family: AnyResource): Promise<Record<string, string>> {
  const place = await rows.place(canonicalPath(family), family);
  const { id } = (await rows.post(family, place)).body;
  return { ...place.parents, [family.idParam]: id, domainId: api().rootId };
}

/** A calendar says when it was written (RFC 5545 §3.8.7.2), which two answers may do in different seconds. */
const withoutStamp = (body: unknown) =>
  typeof body === "string" ? body.replaceAll(/^DTSTAMP:\d{8}T\d{6}Z\r\n/gm, "") : body;

describe("subresources", () => {
  // Only a cloud hands secrets over: test/e2e/sealed-secrets.test.ts.
  const read = below.filter(
    ({ action }) => action.method === "get" && !/\/(audio|image|secret-hand-over)$/.test(action.at),
  );
  it.each(read.map(({ action, family }) => [action.at, family] as const))("%s", async (at, family) => {
    const ids = await idsBelow(family);
    const newer = await api().call("GET", `/api/${filled(onPremisesPaths({ at })[0]?.at ?? "", ids)}`);
    const older = await api().call("GET", `/${filled(at, ids)}`);
    expect([newer.status, withoutStamp(newer.body)]).toEqual([200, withoutStamp(older.body)]);
    const nowhere = { ...ids, [family.idParam]: UNKNOWN_ID };
    const lost = await api().call("GET", `/api/${filled(onPremisesPaths({ at })[0]?.at ?? "", nowhere)}`);
    expectError(lost, 404, "not-found");
  });

  const cloned = below.filter(({ action }) => action.at.endsWith("/clone"));
  it.each(cloned.map(({ action, family }) => [action.at, family] as const))("%s", async (at, family) => {
    const ids = await idsBelow(family);
    const path = onPremisesPaths({ at })[0]?.at ?? "";
    const { status, body } = await api().call("POST", `/api/${filled(path, ids)}`);
    expect([status, body.name]).toEqual([200, expect.stringMatching(/ \(Copy\)$/)]);
    const nowhere = { ...ids, [family.idParam]: UNKNOWN_ID };
    expectError(await api().call("POST", `/api/${filled(path, nowhere)}`), 404, "not-found");
  });

  const placed = below.filter(({ action }) => action.at.endsWith("/domains") && action.method === "post");
  it.each(placed.map(({ action, family }) => [action.at, family] as const))("%s", async (at, family) => {
    const collection = `/api/${filled(onPremisesPaths({ at })[0]?.at ?? "", await idsBelow(family))}`;
    expectError(await api().call("POST", collection, { json: {} }), 400, "required", "id");
    const joined = await api().call("POST", collection, { json: { id: hall, demote: true } });
    expect([joined.status, joined.body.name]).toEqual([200, "Hall"]);
    await api().call("POST", collection, { json: { id: annex } });
    const left = await api().call("DELETE", `${collection}/${hall}`);
    expect([left.status, left.body.message]).toEqual([200, `deleted ${hall}`]);
    expectError(await api().call("GET", `${collection}/${hall}`), 404, "not-found");
  });

  it("serves the audio and the picture of a notification", async () => {
    const files = fileFields(catalogue.byName("message-templates")).map(([name, field]) => {
      const { bytes, type } = sampleFile(field);
      return [name, new File([new Uint8Array(bytes)], "sample"), type] as const;
    });
    expect(files.map(([name]) => name)).toEqual(["audio", "image"]);
    const multipart = [["name", "Shown"], ["subject", "Shown"], ...files.map(([name, file]) => [name, file] as const)];
    const { body } = await api().call("POST", "/api/onprem/v1/messages", { multipart: multipart as FormEntries });
    for (const [name, file, type] of files) {
      const answer = await api().call("GET", `/api/onprem/v1/messages/${body.id}/${name}`);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, type]);
      expect(answer.headers.get("content-length")).toBe(String(file.size));
      expectError(await api().call("GET", `/api/onprem/v1/messages/${UNKNOWN_ID}/${name}`), 404, "not-found");
    }
  });
});
