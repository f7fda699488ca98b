import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import distributionLists from "../../src/resources/lists/distribution-lists.ts";
import subscriptions from "../../src/resources/people/subscriptions.ts";
import userDevices from "../../src/resources/people/user-devices.ts";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { zipFile } from "../support/zip-file.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";

let api: ApiFixture;
let dir: string;
let timed: Map<string, () => void>;
const open = async (): Promise<void> => {
  api = await openApi(dir, {
    schedule(expression, work) {
      timed.set(expression, work);
      return () => void timed.delete(expression);
    },
  });
};
beforeEach(async () => {
  dir = makeTempDir();
  timed = new Map();
  await open();
});
afterEach(() => api.close());

async function define(more: object = {}): Promise<string> {
  const made = await api.call("POST", "/load-definitions", { json: { name: "School", type: "table", ...more } });
  expect(made.status).toBe(200);
  return made.body.id;
}

async function give(id: string, lines: readonly string[]): Promise<void> {
  const headers = { "content-type": "text/csv", "x-file-name": "people.csv" };
  const { status } = await api.call("PUT", `/load-definitions/${id}/file`, { headers, body: lines.join("\n") });
  expect(status).toBe(200);
}

async function load(id: string, json: object = {}): Promise<ReceivedResponse["body"]> {
  const begun = await api.call("POST", `/load-definitions/${id}/runs`, { json });
  expect(begun.status).toBe(200);
  return ended(`/load-definitions/${id}/runs/${begun.body.id}`);
}

async function ended(path: string): Promise<ReceivedResponse["body"]> {
  for (;;) {
    const { body } = await api.call("GET", path);
    if (body.endedAt !== null) return body;
  }
}

const HEAD = "email,name,lists";
const ANNA = "anna@example.org,Anna,Teachers;Choir";
const BEN = "ben@example.org,Ben,Choir";
const names = (): string[] => api.store.find(users, { source: "user-loader" }).map(({ name }) => name);
const placesOn = (list: string): string[] => {
  const [row] = api.store.find(distributionLists, { name: list });
  const places = row ? api.store.find(subscriptions, { distributionListId: row.id }) : [];
  return places.map(({ userId }) => api.store.get(users, userId)?.name ?? "").sort();
};

describe("a load", () => {
  it("creates users, lists and places, updates changes and removes missing rows, only among the rows it owns", async () => {
    const { store, system } = api;
    const id = await define({ removalThreshold: 100 });
    await give(id, [HEAD, ANNA, BEN]);
    expect(await load(id)).toMatchObject({
      ...{ state: "complete", peopleRead: 2, usersCreated: 2, listsCreated: 2, subscriptionsCreated: 3, reason: null },
    });
    const [anna] = store.find(users, { email: "anna@example.org" });
    expect(anna).toMatchObject({ loadSourceId: id, source: "user-loader", domainId: api.rootId });
    expect(placesOn("Choir")).toEqual(["Anna", "Ben"]);

    const own = await store.create(users, { name: "By hand", email: "hand@example.org" }, system);
    const [choir] = store.find(distributionLists, { name: "Choir" });
    await store.create(subscriptions, { userId: own.id, distributionListId: choir?.id }, system);
    await give(id, [HEAD, "anna@example.org,Anna B.,Choir", "cora@example.org,Cora,"]);
    expect(await load(id)).toMatchObject({
      ...{ state: "complete", usersCreated: 1, usersChanged: 1, usersRemoved: 1, listsRemoved: 1 },
      ...{ subscriptionsCreated: 0, subscriptionsRemoved: 1 },
    });
    expect(names().sort()).toEqual(["Anna B.", "Cora"]);
    expect(placesOn("Choir")).toEqual(["Anna B.", "By hand"]);
    expect(store.find(distributionLists, { name: "Teachers" })).toEqual([]);
    expect((await load(id)).usersChanged).toBe(0);
    expect((await api.call("GET", "/users?q=cora")).body.data).toHaveLength(1);
  });

  it("stops before removing too many rows, reports it, and continues after confirmation", async () => {
    const id = await define();
    await give(id, [HEAD, ANNA, BEN]);
    await load(id);
    await give(id, [HEAD, ANNA]);
    const stopped = await load(id);
    expect(stopped).toMatchObject({ state: "stopped", reason: expect.stringContaining("50 % of users (1 of 2)") });
    expect(api.logText()).not.toContain('"level":50');
    expect(names()).toEqual(["Anna", "Ben"]);
    expect(await load(id, { confirmed: true })).toMatchObject({ state: "complete", usersRemoved: 1 });
    expect(names()).toEqual(["Anna"]);
  });

  it.each([
    [{ path: "sis/roster.ZIP" }, "oneroster"],
    [{ path: "sis/export/" }, "oneroster"],
    [{ path: "sis/people.csv" }, "table"],
    [{ mapping: { name: "Full name" } }, "table"],
    [{}, "table"],
    [{ path: "people.txt", type: "oneroster" }, "oneroster"],
    [{ path: "roster.zip", type: "table" }, "table"],
  ])("has the type that its fields suggest: %j", async (fields, type) => {
    const { status, body } = await api.call("POST", "/load-definitions", { json: { name: "School", ...fields } });
    expect([status, body.type]).toEqual([200, type]);
    const changed = await api.call("PUT", `/load-definitions/${body.id}`, { json: { path: "other.zip" } });
    expect(changed.body.type).toBe(type);
  });

  it("reports unused columns and cells, and loads nevertheless", async () => {
    const id = await define();
    await give(id, ["email,name,lists,Grade", `${ANNA},7,more`, `${BEN},8`]);
    const done = await load(id);
    expect(done).toMatchObject({ state: "complete", usersCreated: 2 });
    expect(done.warnings).toEqual([
      { file: "people.csv", line: 1, column: "Grade", message: expect.stringContaining("Column Grade is ignored") },
      { file: "people.csv", line: 2, column: null, message: "The line has 5 cells, the header has 4." },
    ]);
    await give(id, [HEAD, ANNA, BEN]);
    expect((await load(id)).warnings).toEqual([]);
  });

  it("changes nothing where a column that the mapping names is missing", async () => {
    const id = await define();
    await give(id, [HEAD, ANNA, BEN]);
    await load(id);
    const mapping = { key: "email", lists: "Liste" };
    expect((await api.call("PUT", `/load-definitions/${id}`, { json: { mapping } })).status).toBe(200);
    expect(await load(id)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("line 1: Missing column Liste."),
    });
    expect(placesOn("Choir")).toEqual(["Anna", "Ben"]);
  });

  it("tries everything and keeps nothing in a dry run", async () => {
    const id = await define();
    await give(id, [HEAD, ANNA, BEN]);
    expect(await load(id, { dryRun: true })).toMatchObject({ state: "complete", usersCreated: 2, listsCreated: 2 });
    expect(names()).toEqual([]);
    expect(api.store.all("SELECT * FROM load_steps")).toEqual([]);
  });

  it.each([
    ["more people with a fault than the source allows", [HEAD, ANNA, "no address,Ben,"], "1 of 2 lines", 3],
    ["more keys that stand twice than the source allows", [HEAD, ANNA, ANNA], "1 of 2 lines", 3],
    ["a missing column", ["mail,name", "a@example.org,A"], "Missing column email", null],
    ["nobody", [HEAD], "at least one person", null],
  ])("changes nothing for %s", async (_what, lines, reason, line) => {
    const id = await define({ errorThreshold: 49 });
    await give(id, lines);
    const failed = await load(id);
    expect(failed).toMatchObject({ state: "failed", reason: expect.stringContaining(reason) });
    if (line !== null) expect(failed.errors).toMatchObject([{ line }]);
    expect(failed).toMatchObject({ usersCreated: 0, listsCreated: 0, subscriptionsCreated: 0 });
    expect(names()).toEqual([]);
    expect(api.store.find(distributionLists, {})).toEqual([]);
  });

  it("leaves out a person with a fault, and a change that is refused, and loads the others", async () => {
    const id = await define({ mapping: { key: "id" } });
    await give(id, ["id,name,email", "1,Anna,anna@example.org", "2,Ben,no address", "3,Cora,cora@example.org"]);
    expect(await load(id)).toMatchObject({
      ...{ state: "complete", usersCreated: 2, linesRead: 3, linesWithErrors: 1 },
      errors: [{ file: "people.csv", line: 3, column: "email" }],
    });
    await give(id, ["id,name,email", "1,Anna,nowhere", "2,Ben,ben@example.org", "3,Cora C.,cora@example.org"]);
    expect(await load(id)).toMatchObject({
      ...{ state: "complete", usersCreated: 1, usersChanged: 1, usersRemoved: 0 },
      errors: [{ file: "people.csv", line: 2, column: "email" }],
    });
    expect(names()).toEqual(["Anna", "Cora C.", "Ben"]);
  });

  it("gives an address that another account has to the person as a device", async () => {
    await api.store.create(users, { name: "Other", email: "taken@example.org" }, api.system);
    const id = await define({ mapping: { key: "id" } });
    await give(id, ["id,name,email,lists", "1,Anna,taken@example.org,A"]);
    expect(await load(id)).toMatchObject({ state: "complete", errors: null });
    const [anna] = api.store.find(users, { name: "Anna" });
    expect(anna?.email).toBeNull();
    expect(api.store.find(userDevices, { userId: anna?.id ?? "" })).toMatchObject([
      { type: "email", deviceIdentifier: "taken@example.org" },
    ]);
    expect(await load(id)).toMatchObject({ usersChanged: 0 });
    expect(api.store.count(userDevices, { userId: anna?.id ?? "" })).toBe(1);
  });

  it("reads a OneRoster folder: schools and classes are lists, who left is gone", async () => {
    const folder = join(dir, "loads", "roster");
    mkdirSync(folder, { recursive: true });
    const files = {
      "orgs.csv": "sourcedId,status,name,type\no1,active,North School,school\n",
      "classes.csv": "sourcedId,status,title\nc1,active,Physics 8\nc2,tobedeleted,Gone\n",
      "enrollments.csv":
        "sourcedId,status,classSourcedId,userSourcedId,role\ne1,active,c1,u1,student\ne2,active,c2,u1,student\n",
      "users.csv":
        "sourcedId,status,enabledUser,givenName,familyName,email,orgSourcedIds\nu1,active,true,Ada,Moss,ada@example.org,o1\nu2,tobedeleted,true,Old,One,,o1\n",
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const id = await define({ type: "oneroster", path: "roster" });
    expect(await load(id)).toMatchObject({ state: "complete", usersCreated: 1, listsCreated: 2 });
    expect(api.store.find(users, { email: "ada@example.org" })).toMatchObject([
      { name: "Ada Moss", source: "sis-loader" },
    ]);
    expect([placesOn("North School"), placesOn("Physics 8")]).toEqual([["Ada Moss"], ["Ada Moss"]]);
  });

  it("reads a OneRoster archive, and rejects other archives", async () => {
    const id = await define({ type: "oneroster" });
    const headers = { "content-type": "application/zip" };
    const body = zipFile({ "data/users.csv": "sourcedId,givenName,familyName,email\nu1,Ada,Moss,ada@example.org\n" });
    await api.call("PUT", `/load-definitions/${id}/file`, { headers, body });
    expect(await load(id)).toMatchObject({ state: "complete", usersCreated: 1 });
    await api.call("PUT", `/load-definitions/${id}/file`, { headers, body: body.subarray(0, 60) });
    expect(await load(id)).toMatchObject({ state: "failed", reason: expect.stringContaining("archive") });
  });

  it("refuses paths that lead elsewhere and times that are none", async () => {
    for (const bad of [{ path: "../keys" }, { path: "/etc/passwd" }, { schedule: "often" }]) {
      const json = { name: "X", type: "table", ...bad };
      const field = Object.keys(bad)[0];
      expect(await api.call("POST", "/load-definitions", { json })).toMatchObject({
        status: 400,
        body: { errors: [{ field }] },
      });
    }
    expect(await load(await define({ path: "nowhere.csv" }))).toMatchObject({ state: "failed" });
  });

  it("comes by the clock while its definition is enabled", async () => {
    const id = await define({ schedule: "30 4 * * *" });
    await give(id, [HEAD, ANNA]);
    timed.get("30 4 * * *")?.();
    let runs: ReceivedResponse["body"] = [];
    while (runs[0]?.state !== "complete") runs = (await api.call("GET", `/load-definitions/${id}/runs`)).body.data;
    expect(names()).toEqual(["Anna"]);
    await api.call("PUT", `/load-definitions/${id}`, { json: { disabled: true } });
    expect(timed.size).toBe(0);
  });

  it("continues a confirmed load after a restart", async () => {
    const id = await define({ removalThreshold: 100 });
    await give(id, [HEAD, ANNA, BEN]);
    const { id: runId } = await load(id);
    const { store } = api;
    const [ben] = store.find(users, { name: "Ben" });
    await store.write((tx) => {
      const { pk } = tx.one<{ pk: number }>("SELECT pk FROM load_runs WHERE id = ?", runId) ?? { pk: 0 };
      tx.run("UPDATE load_runs SET state = 'applying', ended_at = NULL WHERE id = ?", runId);
      tx.run("INSERT INTO load_steps (run, resource, op, id) VALUES (?, 'users', 'remove', ?)", pk, ben?.id ?? "");
    });
    await api.close();
    await open();
    expect(await ended(`/load-definitions/${id}/runs/${runId}`)).toMatchObject({ state: "complete" });
    expect(names()).toEqual(["Anna"]);
  });
});
