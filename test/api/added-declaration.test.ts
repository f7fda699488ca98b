import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AnyResource } from "../../src/schema/resource.ts";
import type { ModuleLoader } from "../../src/wiring/load-declarations.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { describeResourceSuite, expectError } from "./resource-suite.ts";
import { createSampleRows } from "./sample-rows.ts";

/** Everything there is of a new resource: one file. `more` stands among its fields. */
const declaration = (more: string): string => `
import { boolean, date, file, integer, json, list, many, object, option, ref, secret, text, timestamp } from "${source("schema/field.ts")}";
import { defineResource } from "${source("schema/resource.ts")}";

export default defineResource({
  name: "lost-things",
  doc: "Something that was found and waits for its owner.",
  paths: [{ at: "lost-things" }, { at: "users/{finderId}/lost-things" }],
  idParam: "lostThingId",
  scope: "domain",
  replicate: "B",
  limit: { most: 40 },
  fields: {
    name: text("What it is.", { required: true, min: 1, max: 50, unique: true }),
    finderId: ref("Who found it.", "users", { required: true, createOnly: true, embed: "finder", onDelete: "cascade" }),
    watcherIds: many("Who wants to know of it.", "users", { embed: "watchers", maxItems: 10 }),
    colour: text("Its colour.", { format: "color" }),
    kind: option("Kind of thing.", ["clothes", "keys", "toys"], { default: "clothes" }),
    shelf: integer("Shelf it lies on.", { min: 1, max: 99 }),
    foundAt: timestamp("When it was found."),
    keptUntil: date("Last day it is kept."),
    claimed: boolean("Somebody asked for it.", { default: false }),
    marks: list("What tells it from others.", text("One mark.", { max: 20 }), { maxItems: 5 }),
    place: object("Where it was found.", { room: text("Room."), floor: integer("Floor.", { max: 20 }) }),
    notes: json("Free notes."),
    proof: secret("Word that the owner must know."),
    picture: file("Picture of it.", ["image/png"]),
    ${more}
  },
});
`;

function source(path: string): string {
  return new URL(`../../src/${path}`, import.meta.url).href;
}

/** A folder with the one file, as a start of the appliance scans it. */
async function declare(folder: string, more = ""): Promise<{ modules: ModuleLoader; resource: AnyResource }> {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "lost-things.ts");
  writeFileSync(path, declaration(more));
  const module = (await import(pathToFileURL(path).href)) as { default: AnyResource };
  return { modules: async () => ({ [path]: module }), resource: module.default };
}

const root = makeTempDir();
const first = await declare(join(root, "first"));
const second = await declare(join(root, "second"), 'owner: text("Whose it was.", { max: 30 }),');
const dataDir = join(root, "data");
mkdirSync(dataDir);

describe("a resource that is one data file", () => {
  let api: ApiFixture;
  beforeAll(async () => {
    api = await openApi(dataDir, { declarations: first.modules });
  });
  afterAll(() => api.close());

  // Checks, envelope, media types, permissions, files: what every resource gets.
  describeResourceSuite(first.resource, { api: () => api, rows: createSampleRows(() => api, {}, {}) });

  it("gets a table, a feed and an audit", async () => {
    const json = { name: "Scarf", finderId: api.adminId, proof: "a secret word", watcherIds: [api.adminId] };
    const made = (await api.call("POST", "/lost-things", { json })).body;
    expect(made.finder).toMatchObject({ id: api.adminId, email: "admin@example.org" });
    expect(made.watchers).toMatchObject([{ id: api.adminId }]);
    expect(made.domainId).toBe(api.rootId);
    const at = `/lost-things/${made.id}`;
    await api.call("PUT", at, { json: { claimed: true } });
    await api.call("DELETE", at);
    expect(api.store.one("SELECT strict FROM pragma_table_list WHERE name = 'lost_things'")).toEqual({ strict: 1 });
    expect(api.store.all("SELECT op, class FROM changes WHERE type = 'lost-things' AND row_id = ?", made.id)).toEqual([
      { op: "delete", class: "B" },
    ]);
    const audit = api.store.all<{ op: string; actor_id: string; before: string; after: string }>(
      "SELECT op, actor_id, before, after FROM audit_entries WHERE resource = 'lost-things' AND row_id = ? ORDER BY pk",
      made.id,
    );
    expect(audit.map(({ op }) => op)).toEqual(["create", "update", "delete"]);
    expect(new Set(audit.map(({ actor_id }) => actor_id))).toEqual(new Set([api.adminId]));
    expect(JSON.stringify(audit)).not.toContain("a secret word");
    expect(JSON.parse(audit[1]?.before ?? "").claimed).toBe(false);
    expect(JSON.parse(audit[1]?.after ?? "").claimed).toBe(true);
  });

  it("supports filters and sorting", async () => {
    for (const [name, shelf] of [
      ["Cap", 3],
      ["Ball", 1],
      ["Key", 2],
    ] as const) {
      const json = {
        name,
        shelf,
        finderId: api.adminId,
        kind: name === "Key" ? "keys" : "toys",
        keptUntil: `2030-01-0${shelf}`,
      };
      expect((await api.call("POST", "/lost-things", { json })).status).toBe(200);
    }
    const names = async (query: string) =>
      (await api.call("GET", `/users/${api.adminId}/lost-things?${query}`)).body.data.map(
        (row: { name: string }) => row.name,
      );
    expect(await names("sort=name&limit=10&shelf__gte=1")).toEqual(["Ball", "Cap", "Key"]);
    expect(await names("sort=-shelf&shelf__gte=1")).toEqual(["Cap", "Key", "Ball"]);
    expect(await names("kind=keys&kept-until__lt=2030-01-03")).toEqual(["Key"]);
    expect(await names(`watcherIds=${api.adminId}&name=Ball`)).toEqual([]);
    expectError(await api.call("GET", "/lost-things?kind=hats"), 400, "invalid-value", "kind");
    expectError(
      await api.call("POST", "/lost-things", { json: { name: "CAP", finderId: api.adminId } }),
      409,
      "conflict",
      "name",
    );
  });

  it("stops at its limit", async () => {
    const before = api.store.count(first.resource, {});
    const made = await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        api.call("POST", "/lost-things", { json: { name: `Glove ${at}`, finderId: api.adminId } }),
      ),
    );
    expect(made.filter(({ status }) => status === 200)).toHaveLength(40 - before);
    const over = made.find(({ status }) => status !== 200);
    expectError(over as NonNullable<typeof over>, 400, "limit-exceeded");
    expect(over?.body.message).toBe("Limit of 40 lost-things reached.");
    expect(api.store.count(first.resource, {})).toBe(40);
  });
});

describe("the next start with one more field", () => {
  let api: ApiFixture;
  beforeAll(async () => {
    api = await openApi(dataDir, { declarations: second.modules });
  });
  afterAll(() => api.close());

  it("keeps the rows and takes the new field", async () => {
    const { body } = await api.call("GET", "/lost-things?name=Cap");
    expect(body.data).toMatchObject([{ name: "Cap", shelf: 3, owner: null }]);
    const put = await api.call("PUT", `/lost-things/${body.data[0].id}`, { json: { owner: "Ann" } });
    expect(put.body.owner).toBe("Ann");
    expect((await api.call("GET", "/lost-things?owner=Ann")).body.total).toBe(1);
  });
});
