import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import distributionLists from "../../src/resources/lists/distribution-lists.ts";
import subscriptions from "../../src/resources/people/subscriptions.ts";
import userDevices from "../../src/resources/people/user-devices.ts";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { zipFile } from "../support/zip-file.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";

/** A Thursday in October, noon in Berlin. */
const NOON = Date.UTC(2026, 9, 1, 10);

let api: ApiFixture;
let dir: string;
let now = NOON;
let school = "";
let number = 0;
const clock: Clock = { ...systemClock, now: () => now };
beforeAll(async () => {
  dir = makeTempDir();
  api = await openApi(dir, { clock });
});
afterAll(() => api.close());
beforeEach(() => {
  now = NOON;
  school = `s${++number}.example`;
});

type Body = ReceivedResponse["body"];
type Files = Readonly<Record<string, string>>;

async function define(more: object = {}): Promise<string> {
  const { status, body } = await api.call("POST", "/load-definitions", {
    json: { name: school, type: "oneroster", ...more },
  });
  expect(status).toBe(200);
  return body.id;
}

async function give(id: string, files: Files): Promise<void> {
  const headers = { "content-type": "application/zip", "x-file-name": "roster.zip" };
  const { status } = await api.call("PUT", `/load-definitions/${id}/file`, { headers, body: zipFile(files) });
  expect(status).toBe(200);
}

async function run(id: string, json: object = {}): Promise<Body> {
  const { body } = await api.call("POST", `/load-definitions/${id}/runs`, { json });
  for (;;) {
    const { body: current } = await api.call("GET", `/load-definitions/${id}/runs/${body.id}`);
    if (current.endedAt !== null) return current;
  }
}

async function load(id: string, files: Files, json: object = {}): Promise<Body> {
  await give(id, files);
  return run(id, json);
}

/** Members of each list of a source, by name. */
function listsOf(id: string): Record<string, string[]> {
  const lists = api.store.find(distributionLists, { loadSourceId: id });
  const members = (distributionListId: string): string[] =>
    api.store
      .find(subscriptions, { distributionListId })
      .map(({ userId }) => api.store.get(users, userId)?.name ?? "")
      .sort();
  return Object.fromEntries(lists.map((list) => [list.name, members(list.id)]));
}

const peopleOf = (id: string): string[] => api.store.find(users, { loadSourceId: id }).map(({ name }) => name);

const csv = (head: string, ...rows: readonly string[]): string => `${[head, ...rows].join("\r\n")}\r\n`;
const ORGS = "sourcedId,status,dateLastModified,name,type";
const CLASSES = "sourcedId,status,dateLastModified,title,classCode,schoolSourcedId,termSourcedIds";
const ENROLLMENTS = "sourcedId,status,dateLastModified,classSourcedId,userSourcedId,role,beginDate,endDate";
const USERS = "sourcedId,status,dateLastModified,enabledUser,orgSourcedIds,role,givenName,familyName,email,sms,phone";
const SESSIONS = "sourcedId,status,dateLastModified,title,type,startDate,endDate";
const ROLES = "sourcedId,status,dateLastModified,userSourcedId,roleType,role,beginDate,endDate,orgSourcedId";
const manifest = (version: string, modes: Files): string =>
  csv(
    "propertyName,value",
    `oneroster.version,${version}`,
    ...Object.entries(modes).map(([file, mode]) => `file.${file},${mode}`),
  );

/** Two schools with a class of one title each. */
const twoSchools = (): Record<string, string> => ({
  "orgs.csv": csv(ORGS, "s1,,,North School,school", "s2,,,South School,school"),
  "classes.csv": csv(CLASSES, "c1,,,Algebra I,,s1,", "c2,,,Algebra I,,s2,"),
  "enrollments.csv": csv(
    ENROLLMENTS,
    "e1,,,c1,u1,student,2026-08-20,2027-06-10",
    "e2,,,c2,u2,student,2026-08-20,2027-06-10",
  ),
  "users.csv": csv(
    USERS,
    `u1,,,true,s1,student,Ann,North,ann@${school},,`,
    `u2,,,true,s2,student,Bob,South,bob@${school},,`,
  ),
});
const TWO_SCHOOLS = {
  "North School": ["Ann North"],
  "South School": ["Bob South"],
  "Algebra I (North School)": ["Ann North"],
  "Algebra I (South School)": ["Bob South"],
};
/** The members of a class of `count`, with an enrolment each. */
const classOf = (count: number, enrolled = count): Record<string, string> => {
  const all = Array.from({ length: count }, (_, at) => at);
  return {
    "orgs.csv": csv(ORGS, "s1,,,North School,school"),
    "classes.csv": csv(CLASSES, "c1,,,Art,,s1,"),
    "enrollments.csv": csv(ENROLLMENTS, ...all.slice(0, enrolled).map((at) => `e${at},,,c1,u${at},student,,`)),
    "users.csv": csv(USERS, ...all.map((at) => `u${at},,,true,s1,student,P${at},N,p${at}@${school},,`)),
  };
};

describe("a roster", () => {
  it("creates a list per class, also where two schools use one title", async () => {
    const id = await define();
    const done = await load(id, twoSchools());
    expect(done).toMatchObject({ state: "complete", usersCreated: 2, listsCreated: 4, errors: null, warnings: [] });
    expect(listsOf(id)).toEqual(TWO_SCHOOLS);
    expect(await run(id)).toMatchObject({
      state: "complete",
      usersChanged: 0,
      listsCreated: 0,
      subscriptionsCreated: 0,
    });
    const files = done.files as { file: string; lines: number }[];
    expect(files.map(({ file, lines }) => [file, lines])).toEqual([
      ["orgs.csv", 2],
      ["classes.csv", 2],
      ["enrollments.csv", 2],
      ["users.csv", 2],
    ]);
    expect(files[0]).toMatchObject({ mode: "bulk", delimiter: "comma", encoding: "utf-8", quote: "double" });
  });

  it("stops with an explanation if a file of the last load is missing, and keeps its rows after confirmation", async () => {
    const id = await define();
    await load(id, twoSchools());
    const { "users.csv": only = "" } = twoSchools();
    const stopped = await load(id, { "users.csv": only });
    expect(stopped).toMatchObject({ state: "stopped", subscriptionsRemoved: 0, listsRemoved: 0 });
    expect(stopped.reason).toContain("orgs.csv, classes.csv, enrollments.csv are missing");
    expect(listsOf(id)).toEqual(TWO_SCHOOLS);
    expect(await run(id, { confirmed: true })).toMatchObject({ state: "complete", subscriptionsRemoved: 0 });
    expect(listsOf(id)).toEqual(TWO_SCHOOLS);
    expect(await run(id)).toMatchObject({ state: "complete", listsRemoved: 0 });
    expect(listsOf(id)).toEqual(TWO_SCHOOLS);
  });

  it("leaves the part of a file that its manifest calls absent", async () => {
    const id = await define();
    await load(id, twoSchools());
    const third = `u3,,,true,s1,student,Cora,North,cora@${school},,`;
    const files = {
      "manifest.csv": manifest("1.1", { users: "bulk", orgs: "absent", classes: "absent", enrollments: "absent" }),
      "users.csv": `${twoSchools()["users.csv"]}${third}\r\n`,
    };
    expect(await load(id, files)).toMatchObject({ state: "complete", usersCreated: 1, subscriptionsCreated: 1 });
    expect(listsOf(id)).toEqual({ ...TWO_SCHOOLS, "North School": ["Ann North", "Cora North"] });
  });

  it("fails where the manifest announces a file that is not there, or says something unknown", async () => {
    const id = await define();
    const { "users.csv": only = "" } = twoSchools();
    const announced = { "users.csv": only, "manifest.csv": manifest("1.1", { classes: "bulk" }) };
    expect(await load(id, announced)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("announces classes.csv (bulk)"),
    });
    const odd = { "users.csv": only, "manifest.csv": manifest("1.1", { users: "some" }) };
    expect(await load(id, odd)).toMatchObject({ state: "failed", reason: expect.stringContaining("file.users") });
  });

  it("changes only the listed rows in delta mode", async () => {
    const id = await define({ removalThreshold: 60 });
    const deltas = manifest("1.1", { users: "delta", enrollments: "delta", orgs: "absent", classes: "absent" });
    const files = {
      "manifest.csv": deltas,
      "users.csv": csv(USERS, `u3,active,2026-09-30T10:00:00Z,true,s2,student,Cora,South,cora@${school},,`),
      "enrollments.csv": csv(
        ENROLLMENTS,
        "e3,active,2026-09-30T10:00:00Z,c2,u3,student,,",
        "e1,tobedeleted,2026-09-30T10:00:00Z,,,,,",
      ),
    };
    expect(await load(id, files)).toMatchObject({ state: "failed", reason: expect.stringContaining("(bulk) once") });
    await load(id, twoSchools());
    const done = await load(id, files);
    expect(done).toMatchObject({ state: "complete", usersCreated: 1, usersRemoved: 0, subscriptionsRemoved: 1 });
    const changed = {
      ...TWO_SCHOOLS,
      "Algebra I (North School)": [],
      "South School": ["Bob South", "Cora South"],
      "Algebra I (South School)": ["Bob South", "Cora South"],
    };
    expect(listsOf(id)).toEqual(changed);
    expect(await run(id)).toMatchObject({ usersCreated: 0, usersChanged: 0, subscriptionsRemoved: 0 });
    const older = csv(USERS, `u3,active,2026-09-01T10:00:00Z,true,s2,student,Old,Name,cora@${school},,`);
    const late = await load(id, { ...files, "users.csv": older });
    expect(late).toMatchObject({ state: "complete", usersChanged: 0, warnings: [{ column: "dateLastModified" }] });
    const gone = csv(USERS, "u3,tobedeleted,2026-10-01T10:00:00Z,,,,,,,,");
    expect(await load(id, { ...files, "users.csv": gone })).toMatchObject({ state: "complete", usersRemoved: 1 });
    expect(peopleOf(id)).toEqual(["Ann North", "Bob South"]);
  });

  it("reads the organisations of version 1.2 from roles.csv", async () => {
    const id = await define();
    const files = {
      "manifest.csv": manifest("1.2", { orgs: "bulk", roles: "bulk", users: "bulk", demographics: "bulk" }),
      "orgs.csv": twoSchools()["orgs.csv"] ?? "",
      "roles.csv": csv(ROLES, "r1,,,u1,primary,teacher,,,s1", "r2,,,u1,secondary,teacher,2026-01-01,2026-09-30,s2"),
      "users.csv": csv(
        "sourcedId,status,enabledUser,givenName,familyName,email,preferredGivenName,primaryOrgSourcedId",
        `u1,,true,Susanna,North,sue@${school},Sue,`,
      ),
      "demographics.csv": csv("sourcedId,birthDate", "u1,1980-02-03"),
    };
    expect(await load(id, files)).toMatchObject({ state: "complete", usersCreated: 1, listsCreated: 1 });
    expect(listsOf(id)).toEqual({ "North School": ["Sue North"] });
  });

  it("is found in folders of the archive, with unusual headers, byte order marks and separators", async () => {
    const id = await define();
    const files = {
      "Export 2026/Users.CSV": `\ufeff"SOURCEDID";"GivenName";"familyname";"EMAIL";"orgSourcedIds"\r\nu1;Ann;North;ann@${school};"s1,s2"\r\n`,
      "Export 2026/orgs.csv": twoSchools()["orgs.csv"] ?? "",
      "__MACOSX/Export 2026/._users.csv": "rubbish",
      "__MACOSX/users.csv": "rubbish",
    };
    expect(await load(id, files)).toMatchObject({ state: "complete", usersCreated: 1 });
    expect(listsOf(id)).toEqual({ "North School": ["Ann North"], "South School": ["Ann North"] });
    const twice = await load(id, { ...files, "old/users.csv": "sourcedId\n" });
    expect(twice).toMatchObject({ state: "failed", reason: expect.stringContaining("2 files users.csv") });
  });

  it("is read from a folder of the appliance", async () => {
    const loads = join(dir, "loads", school, "inner");
    mkdirSync(loads, { recursive: true });
    for (const [name, text] of Object.entries(twoSchools())) writeFileSync(join(loads, name), text);
    const id = await define({ path: school });
    expect(await run(id)).toMatchObject({ state: "complete", listsCreated: 4 });
    rmSync(join(loads, "classes.csv"));
    expect(await run(id)).toMatchObject({
      state: "stopped",
      reason: expect.stringContaining("classes.csv is missing"),
    });
  });

  it("leaves out people who are not enabled, and keeps whose line has an error", async () => {
    const id = await define({ removalThreshold: 60 });
    await load(id, twoSchools());
    const files = twoSchools();
    const faulty = csv(
      USERS,
      `u1,what,,true,s1,student,Ann,North,ann@${school},,`,
      "u2,,,FALSE,s2,student,Bob,South,,,",
    );
    const done = await load(id, {
      ...files,
      "users.csv": faulty,
      "enrollments.csv": csv(ENROLLMENTS, "e1,,,c1,u1,student,,"),
    });
    expect(done).toMatchObject({
      ...{ state: "complete", usersRemoved: 1, linesWithErrors: 1 },
      errors: [{ file: "users.csv", line: 2, column: "status" }],
      errorSentences: [{ code: "upload.the-status-must-be-active-or-tobedeleted" }],
    });
    expect(peopleOf(id)).toEqual(["Ann North"]);
    expect(listsOf(id)["North School"]).toEqual(["Ann North"]);
  });
});

describe("days of a roster", () => {
  it("begin and end at midnight of the appliance's time zone", async () => {
    const id = await define({ removalThreshold: 100, listRemovalThreshold: 100 });
    const files = { ...twoSchools() };
    files["enrollments.csv"] = csv(ENROLLMENTS, "e1,,,c1,u1,student,2026-10-03,", "e2,,,c2,u2,student,,2026-10-01");
    await load(id, files);
    const art = "Algebra I (South School)";
    expect(listsOf(id)).toMatchObject({ [art]: ["Bob South"] });
    const [south] = api.store.find(distributionLists, { loadSourceId: id, name: art });
    const [place] = api.store.find(subscriptions, { distributionListId: south?.id ?? "" });
    // 24:00 of 1 October in Berlin.
    expect(place?.subscriptionEndDate).toBe(Date.UTC(2026, 9, 1, 22));
    now = Date.UTC(2026, 9, 1, 21, 59);
    expect(await run(id)).toMatchObject({ subscriptionsRemoved: 0 });
    now = Date.UTC(2026, 9, 1, 22, 1);
    expect(await run(id)).toMatchObject({ state: "complete", subscriptionsRemoved: 1 });
    expect(listsOf(id)).toMatchObject({ [art]: [] });
    now = Date.UTC(2026, 9, 2, 22, 1);
    expect(await run(id)).toMatchObject({ subscriptionsCreated: 1 });
    expect(listsOf(id)).toMatchObject({ "Algebra I (North School)": ["Ann North"] });
  });

  it("end memberships with their term without stopping the load", async () => {
    const id = await define();
    const files = {
      ...twoSchools(),
      "academicSessions.csv": csv(
        SESSIONS,
        "t1,,,Autumn,term,2026-08-20,2026-12-18",
        "t2,,,Spring,term,2027-01-07,2027-06-10",
      ),
      "classes.csv": csv(CLASSES, "c1,,,Algebra I,,s1,t1", 'c2,,,Algebra I,,s2,"t1,t2"'),
    };
    await load(id, files);
    expect(listsOf(id)).toEqual(TWO_SCHOOLS);
    now = Date.UTC(2027, 0, 8, 10);
    expect(await run(id)).toMatchObject({ state: "complete", subscriptionsRemoved: 1, usersRemoved: 0 });
    expect(listsOf(id)).toEqual({ ...TWO_SCHOOLS, "Algebra I (North School)": [] });
  });

  it("are errors of their lines if invalid", async () => {
    const id = await define();
    const files = { ...twoSchools() };
    files["enrollments.csv"] = csv(
      ENROLLMENTS,
      "e1,,,c1,u1,student,08/20/2026,",
      "e2,,,c2,u2,student,2026-09-01,2026-08-01",
    );
    expect(await load(id, files)).toMatchObject({
      state: "complete",
      errors: [
        { file: "enrollments.csv", line: 2, column: "beginDate" },
        { file: "enrollments.csv", line: 3, column: "endDate" },
      ],
    });
  });
});

describe("thresholds of removals", () => {
  it("count the members of each list", async () => {
    const id = await define({ removalThreshold: 90 });
    await load(id, classOf(10));
    const stopped = await load(id, classOf(10, 4));
    expect(stopped).toMatchObject({ state: "stopped", subscriptionsRemoved: 6 });
    expect(stopped.reason).toContain("60 % of the list Art (6 of 10 members)");
    expect(listsOf(id).Art).toHaveLength(10);
    expect(await load(id, classOf(10, 5))).toMatchObject({ state: "complete", subscriptionsRemoved: 5 });
    expect(await load(id, classOf(10, 0))).toMatchObject({ state: "stopped" });
    expect(await run(id, { confirmed: true })).toMatchObject({ state: "complete" });
    expect(listsOf(id).Art).toEqual([]);
  });

  it("count all memberships together", async () => {
    const id = await define();
    await load(id, twoSchools());
    const stopped = await load(id, { ...twoSchools(), "enrollments.csv": csv(ENROLLMENTS) });
    expect(stopped).toMatchObject({
      state: "stopped",
      reason: expect.stringContaining("50 % of list memberships (2 of 4)"),
    });
    expect(listsOf(id)).toEqual(TWO_SCHOOLS);
  });

  it("count a list that is gone as a whole", async () => {
    const id = await define({ removalThreshold: 90 });
    await load(id, classOf(4));
    const files = { ...classOf(4, 0), "classes.csv": csv(CLASSES) };
    expect(await load(id, files)).toMatchObject({
      state: "stopped",
      listsRemoved: 1,
      reason: expect.stringContaining("list Art"),
    });
  });
});

describe("lists of an earlier release", () => {
  /** Makes the lists of a source those that the release before wrote: keyed by title, one for all classes of a title. */
  async function age(id: string): Promise<void> {
    await api.store.write((tx) => {
      tx.run("DELETE FROM load_records WHERE definition = ?", id);
      tx.run(
        "UPDATE distribution_lists SET load_key = name, load_name = NULL WHERE load_source_pk = (SELECT pk FROM load_definitions WHERE id = ?)",
        id,
      );
    });
  }

  it("are adopted under their current name instead of duplicated", async () => {
    const id = await define();
    const one = { ...twoSchools(), "classes.csv": csv(CLASSES, "c1,,,Algebra I,,s1,") };
    await load(id, one);
    await age(id);
    const before = api.store.find(distributionLists, { loadSourceId: id });
    expect(before.map(({ name }) => name).sort()).toEqual(["Algebra I", "North School", "South School"]);
    expect(await load(id, twoSchools())).toMatchObject({ state: "complete", listsCreated: 1, listsRemoved: 0 });
    expect(listsOf(id)).toEqual(TWO_SCHOOLS);
    for (const { id: listId } of before) expect(api.store.get(distributionLists, listId)).not.toBeNull();
    expect(await run(id)).toMatchObject({ listsCreated: 0, listsRemoved: 0, subscriptionsCreated: 0 });
  });

  it("keep a name that a user gave them", async () => {
    const id = await define();
    const one = { ...twoSchools(), "classes.csv": csv(CLASSES, "c1,,,Algebra I,,s1,") };
    await load(id, one);
    await age(id);
    const [list] = api.store.find(distributionLists, { loadSourceId: id, name: "North School" });
    await api.store.update(distributionLists, list?.id ?? "", { name: "Everybody up north" }, api.system);
    await load(id, one);
    const renamed = { ...one, "orgs.csv": csv(ORGS, "s1,,,Northern School,school", "s2,,,Southern School,school") };
    expect(await load(id, renamed)).toMatchObject({ state: "complete", listsCreated: 0, listsRemoved: 0 });
    expect(Object.keys(listsOf(id)).sort()).toEqual(["Algebra I", "Everybody up north", "Southern School"]);
  });

  it("are not emptied by the first roster if it has users only", async () => {
    const id = await define();
    await load(id, twoSchools());
    await age(id);
    const { "users.csv": only = "" } = twoSchools();
    expect(await load(id, { "users.csv": only })).toMatchObject({ state: "stopped" });
    expect(await run(id, { confirmed: true })).toMatchObject({
      state: "complete",
      subscriptionsRemoved: 0,
      listsRemoved: 0,
    });
    expect(listsOf(id)).toEqual(TWO_SCHOOLS);
  });
});

describe("people who share an address", () => {
  it("are all loaded; the parent logs in with the address, and the children receive notifications at it", async () => {
    const id = await define();
    const shared = `home@${school}`;
    const files = {
      "users.csv": csv(
        USERS,
        `u1,,,true,,student,Ann,Moss,${shared},,`,
        `u2,,,true,,student,Bob,Moss,${shared.toUpperCase()},,`,
        `u3,,,true,,parent,Eve,Moss,${shared},,`,
      ),
    };
    expect(await load(id, files)).toMatchObject({ state: "complete", usersCreated: 3, errors: null });
    const people = api.store.find(users, { loadSourceId: id });
    expect(Object.fromEntries(people.map(({ name, email }) => [name, email]))).toEqual({
      "Ann Moss": null,
      "Bob Moss": null,
      "Eve Moss": shared,
    });
    const devices = people.flatMap(({ id: userId }) => api.store.find(userDevices, { userId }));
    expect(devices.map(({ type, deviceIdentifier }) => [type, deviceIdentifier?.toLowerCase()])).toEqual([
      ["email", shared],
      ["email", shared],
    ]);
    expect(await run(id)).toMatchObject({ usersChanged: 0, usersCreated: 0 });
  });

  it("share telephone numbers, too, which are registered if the source says so", async () => {
    const id = await define({ contactDevices: true });
    const row = (key: string, name: string, sms: string): string =>
      `${key},,,true,,student,${name},Moss,,${sms},ask Eve`;
    const done = await load(id, {
      "users.csv": csv(USERS, row("u1", "Ann", "+1 (555) 010-0100"), row("u2", "Bob", "+15550100100")),
    });
    expect(done).toMatchObject({
      state: "complete",
      usersCreated: 2,
      warnings: [{ column: "phone" }, { column: "phone" }],
    });
    const numbers = () =>
      api.store
        .find(users, { loadSourceId: id })
        .flatMap(({ id: userId }) => api.store.find(userDevices, { userId }))
        .map(({ type, deviceIdentifier }) => `${type} ${deviceIdentifier}`);
    expect(numbers()).toEqual(["SMS +15550100100", "SMS +15550100100"]);
    await load(id, { "users.csv": csv(USERS, row("u1", "Ann", "+15550100199"), row("u2", "Bob", "")) });
    expect(numbers()).toEqual(["SMS +15550100199"]);
  });
});

describe("a table of people", () => {
  const table = async (id: string, body: string | Buffer, json: object = {}, name = "people.csv"): Promise<Body> => {
    const headers = { "content-type": "text/csv", "x-file-name": name };
    await api.call("PUT", `/load-definitions/${id}/file`, { headers, body });
    return run(id, json);
  };

  it("skips only the line with an unbalanced quote", async () => {
    const id = await define({ type: "table" });
    const text = `email,name,lists\r\na@${school},Dwayne "Rock" J,Choir\r\nb@${school},Bob,Choir\r\n`;
    expect(await table(id, text)).toMatchObject({
      ...{ state: "complete", usersCreated: 1, linesWithErrors: 1 },
      errors: [{ file: "people.csv", line: 2, column: "name", message: expect.stringContaining("quote") }],
    });
    const only = text.split("\r\n").slice(0, 2).join("\r\n");
    expect(await table(id, only)).toMatchObject({ state: "failed", reason: expect.stringContaining("1 of 1 lines") });
    expect(peopleOf(id)).toEqual(["Bob"]);
  });

  it("shows in a dry run how it was parsed, and uses the parsing rules of the source", async () => {
    const id = await define({ type: "table", mapping: { key: "id" } });
    const bytes = Buffer.from("id;name;lists\r\n1;Zo\xeb;Ch\x9cur\r\n", "latin1");
    const read = {
      delimiter: "semicolon",
      encoding: "windows-1252",
      quote: "double",
      columns: ["id", "name", "lists"],
    };
    expect(await table(id, bytes, { dryRun: true })).toMatchObject({
      state: "complete",
      files: [{ ...read, lines: 1 }],
    });
    await api.call("PUT", `/load-definitions/${id}`, { json: { delimiter: "comma" } });
    const wrong = await run(id, { dryRun: true });
    expect(wrong).toMatchObject({ state: "failed", reason: expect.stringContaining("comma-separated header") });
    await api.call("PUT", `/load-definitions/${id}`, { json: { delimiter: null, encoding: "windows-1252" } });
    expect(await run(id)).toMatchObject({ state: "complete", usersCreated: 1 });
    expect(listsOf(id)).toEqual({ "Ch\u0153ur": ["Zo\u00eb"] });
  });

  it("compares lists and keys without case, in NFKC", async () => {
    const id = await define({ type: "table" });
    await table(
      id,
      `email,name,lists\na@${school},Ann,Chor\nb@${school},Bob,CHOR;Cafe\u0301\nc@${school},Cid,ｃｈｏｒ;Caf\u00e9\n`,
    );
    expect(listsOf(id)).toEqual({ Chor: ["Ann", "Bob", "Cid"], "Caf\u00e9": ["Bob", "Cid"] });
    const again = await table(
      id,
      `email,name,lists\nA@${school},Ann,chor\nB@${school},Bob,chor;CAF\u00c9\nc@${school},Cid,chor;caf\u00e9\n`,
    );
    expect(again).toMatchObject({
      usersCreated: 0,
      usersChanged: 0,
      usersRemoved: 0,
      listsCreated: 0,
      subscriptionsRemoved: 0,
    });
  });

  it("says while it waits what it waits behind, and how far it is", async () => {
    const rows = Array.from({ length: 3_000 }, (_, at) => `p${at}@${school},Person ${at},All`);
    const id = await define({ type: "table" });
    const headers = { "content-type": "text/csv", "x-file-name": "people.csv" };
    await api.call("PUT", `/load-definitions/${id}/file`, { headers, body: ["email,name,lists", ...rows].join("\n") });
    const path = `/load-definitions/${id}/runs`;
    const first = await api.call("POST", path, { json: { dryRun: true } });
    const second = await api.call("POST", path, { json: { dryRun: true } });
    const waiting = await api.call("GET", `${path}/${second.body.id}`);
    expect(waiting.body).toMatchObject({ state: "pending", phase: "waiting", waitingFor: `Import ${school}` });
    expect(waiting.body.waitingForSentence).toEqual({ code: "load.queued-import", params: { name: school } });
    const seen = new Set<string>();
    for (;;) {
      const { body } = await api.call("GET", `${path}/${first.body.id}`);
      if (body.endedAt !== null) break;
      seen.add(`${body.state} ${body.phase}`);
    }
    expect([...seen]).toContain("running comparing");
    const last = await run(id, { dryRun: true });
    expect(last).toMatchObject({ state: "complete", phase: null, waitingFor: null, linesRead: 3_000 });
    expect((await api.call("GET", `${path}/${second.body.id}`)).body).toMatchObject({
      state: "complete",
      waitingFor: null,
    });
  });

  it("forgets the records of a source that is deleted", async () => {
    const id = await define();
    await load(id, twoSchools());
    const count = () =>
      api.store.one<{ n: number }>("SELECT count(*) AS n FROM load_records WHERE definition = ?", id)?.n;
    expect(count()).toBeGreaterThan(8);
    await api.call("DELETE", `/load-definitions/${id}`);
    await expect.poll(count).toBe(0);
  });
});
