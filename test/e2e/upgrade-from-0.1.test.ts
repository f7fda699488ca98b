import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { extract } from "tar";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { RENAMED_COLUMNS, RENAMED_TABLES } from "../../src/store/migrations/0001-standard-table-names.ts";
import { MIGRATIONS } from "../../src/store/migrations/run-migrations.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { eventually } from "../support/timeouts.ts";

/**
 * Two data folders that release 0.1.0 wrote: an appliance with a school year of bells, people and a sent message, and the
 * cloud that it is linked to.
 */
const FIXTURE = join(import.meta.dirname, "../fixtures/data-0.1.0.tgz");
const SITE = {
  userId: "01a21578-cee3-7156-8142-cfda0b682494",
  token: "carillon_cEknPA2rNddmy7ME2FMOsJE9MfdujBZj65q6TXWTBG0",
  providerId: "8ca48154-8b24-5bb2-965f-0f703d57c1c8",
  extensionId: "89c41350-f994-5cc5-8cb8-29df99fc5669",
  endpointId: "01a21578-cedd-710e-9ca2-3e9bf80d1665",
  domainId: "01a21578-ceb6-7085-aeb5-0b0b702efc36",
};
const CLOUD = {
  userId: "01a21578-d7b2-72a7-b257-7e86579695fc",
  token: "carillon_ajM2TJrxKR4a4FMgE8shldEj6O7M8tgxIQkxuQW0Wwg",
  providerId: "b4ff65d6-2011-5b4a-ac5f-8c9cdef6589e",
  extensionId: "89c41350-f994-5cc5-8cb8-29df99fc5669",
  endpointId: "01a21578-d7af-72f2-9bc4-46cac2b29ec9",
  domainId: "01a21578-d793-768b-b0c7-15770ac8343f",
};
/** The first bell of the fixture's schedule on a Friday: 08:00 in Berlin. */
const FIRST_BELL = Date.UTC(2026, 10, 27, 7);
/** The daemons start this long before it. */
const LEAD_MS = 15_000;

interface Page {
  data: Record<string, unknown>[];
}

let folder: string;
let cloud: TestDaemon;
let site: TestDaemon;

const tablesOf = (dataDir: string): string[] => {
  const db = new Database(join(dataDir, "carillon.db"), { readonly: true });
  try {
    return db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
  } finally {
    db.close();
  }
};

const namesAt = async (at: TestDaemon, path: string): Promise<unknown[]> =>
  (await at.call<Page>("GET", path)).body.data.map(({ name, subject }) => name ?? subject);

/** A clock that shows the moment before the first bell when the test begins. */
function clockBeforeBell(): Clock {
  const offset = FIRST_BELL - LEAD_MS - systemClock.now();
  return { ...systemClock, now: () => systemClock.now() + offset };
}

beforeAll(async () => {
  folder = makeTempDir();
  await extract({ file: FIXTURE, cwd: folder });
  expect(tablesOf(join(folder, "site"))).toEqual(expect.arrayContaining(Object.keys(RENAMED_TABLES)));
  const clock = clockBeforeBell();
  cloud = await startTestDaemon({ isHub: true, clock, after: { dataDir: join(folder, "cloud"), first: CLOUD } });
  const identityFile = join(folder, "site/link/identity.json");
  const identity = JSON.parse(readFileSync(identityFile, "utf8")) as object;
  writeFileSync(identityFile, JSON.stringify({ ...identity, hub: cloud.url }), { mode: 0o600 });
  site = await startTestDaemon({ clock, after: { dataDir: join(folder, "site"), first: SITE } });
}, 180_000);
afterAll(async () => {
  await site?.stop();
  await cloud?.stop();
});

describe("data folders of release 0.1.0", () => {
  it("ring their bells after the upgrade", async () => {
    const [schedule] = (await site.call<Page>("GET", "/bell-schedules")).body.data;
    expect(schedule?.name).toBe("School year");
    const [from, to] = [-1, 1].map((more) => encodeURIComponent(new Date(FIRST_BELL + more).toISOString()));
    const rings = `/bell-schedules/${schedule?.id}/rings?from=${from}&to=${to}`;
    await eventually(async () => {
      const [ring] = (await site.call<Page>("GET", rings)).body.data;
      expect(["started", "rung", "late"]).toContain(ring?.state);
    });
    await eventually(async () => {
      const { data } = (await site.call<Page>("GET", "/notifications?notificationSource=bell-schedule")).body;
      expect(data.map(({ subject }) => subject)).toEqual(["Lesson bell"]);
    });
  });

  it("keep user data and sent notifications", async () => {
    for (const at of [site, cloud]) {
      expect(await namesAt(at, "/distribution-lists")).toEqual(["Teachers"]);
      expect(await namesAt(at, "/ring-lists")).toEqual(["Normal day"]);
      expect(await namesAt(at, "/message-templates")).toEqual(["Lesson bell", "Fire"]);
    }
    const sent = (await site.call<Page>("GET", "/notifications?q=Assembly")).body.data;
    expect(sent.map(({ subject }) => subject)).toEqual(["Assembly at ten"]);
    const deliveries = (await site.call<Page>("GET", `/notifications/${sent[0]?.id}/devices`)).body.data;
    expect(deliveries.map(({ name, level }) => [name, level])).toEqual([["Hall", "skipped"]]);
  });

  it("replicate in both directions", async () => {
    const { body: made } = await cloud.call("POST", "/device-groups", { name: "Made at the cloud" });
    await eventually(async () => {
      expect((await site.call("GET", `/device-groups/${made.id}`)).body.name).toBe("Made at the cloud");
    });
    await site.call("PUT", `/device-groups/${made.id}`, { name: "Changed at the appliance" });
    await eventually(async () => {
      expect((await cloud.call("GET", `/device-groups/${made.id}`)).body.name).toBe("Changed at the appliance");
    });
  });

  it("use only the new names of tables and columns, with a valid audit and one recorded migration", async () => {
    await site.stop();
    await cloud.stop();
    for (const dataDir of [join(folder, "site"), join(folder, "cloud")]) {
      const tables = tablesOf(dataDir);
      expect(tables.filter((name) => name in RENAMED_TABLES)).toEqual([]);
      const db = new Database(join(dataDir, "carillon.db"), { readonly: true });
      const columns = db.prepare("SELECT name FROM pragma_table_info(?)").pluck();
      for (const [table, from, to] of RENAMED_COLUMNS) {
        if (!tables.includes(table)) continue;
        expect([table, columns.all(table)]).toEqual([table, expect.arrayContaining([to])]);
        expect(columns.all(table)).not.toContain(from);
      }
      const applied = db.prepare("SELECT name FROM schema_migrations ORDER BY name").pluck().all();
      expect(applied).toEqual(MIGRATIONS.map(({ name }) => name));
      expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
      expect(db.pragma("foreign_key_check")).toEqual([]);
      // The cloud keeps the end of the appliance's audit.
      const held = db.prepare("SELECT slot FROM audit_held_notes WHERE endpoint = ? ORDER BY slot").pluck();
      const slots = dataDir.endsWith("cloud") ? [expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/), "newest"] : [];
      expect(held.all(SITE.endpointId)).toEqual(slots);
      db.close();
    }
    site = await startTestDaemon({ clock: clockBeforeBell(), after: { dataDir: join(folder, "site"), first: SITE } });
    expect((await site.call("GET", "/audit/verification")).body).toMatchObject({ intact: true });
    const sealed = (await site.call<Page>("GET", "/audit?op=audit-sealed")).body.data;
    expect(sealed).toMatchObject([{ actorName: "store", details: { intact: true, entries: expect.any(Number) } }]);
  });
});
