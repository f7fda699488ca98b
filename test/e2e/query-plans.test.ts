import type Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createHurriedClock } from "../support/hurried-clock.ts";
import { collectStatements, findPoorSteps, type PoorStep, pretendSizes } from "../support/query-plans.ts";
import { eventually } from "../support/timeouts.ts";

interface Row {
  id: string;
}

/** Rows after a year of a large organisation: 100,000 people, 10,000 devices, 1,000 lists. */
const YEAR = {
  users: 100_000,
  user_devices: 200_000,
  user_tokens: 100_000,
  user_permissions: 20_000,
  security_group_members: 100_000,
  subscriptions: 1_000_000,
  devices: 10_000,
  distribution_lists: 1_000,
  zones: 10_000,
  notifications: 50_000,
  notification_recipients: 1_000_000,
  deliveries: 2_000_000,
  notification_activities: 400_000,
  notification_counters: 500_000,
  notification_targets: 10_000,
  notification_device_starts: 2_000_000,
  notification_tracked_positions: 1_000_000,
  notifications__distribution_list_ids: 50_000,
  notifications__user_ids: 50_000,
  notifications__device_group_ids: 50_000,
  notifications__area_of_interest_ids: 50_000,
  notifications__collaboration_group_ids: 50_000,
  notifications__additional_device_ids: 50_000,
  bell_rings: 50_000,
  audit_entries: 2_000_000,
  changes: 500_000,
  incidents: 10_000,
  incident_activities: 100_000,
  alarm_events: 50_000,
  system_health_events: 50_000,
  endpoint_activities: 50_000,
  scenario_notifications: 10_000,
  boundary_trigger_activities: 100_000,
  trigger_deliveries: 200_000,
  bulk_upload_logs: 200_000,
  idempotency_keys: 20_000,
};

const LARGE_TABLE = new RegExp(`\\b(?:${Object.keys(YEAR).join("|")})\\b`);

/** Number of values of columns that repeat, by column or table.column. */
const VALUES = {
  domain_pk: 20,
  also_in: 20,
  owner: 50_000,
  target: 1_000,
  notification_pk: 50_000,
  notification: 50_000,
  device_pk: 10_000,
  user_pk: 100_000,
  user_device_pk: 200_000,
  collaboration_group_pk: 10,
  endpoint_pk: 4,
  extension_pk: 4,
  distribution_list_pk: 1_000,
  message_template_pk: 200,
  provider: 8,
  level: 8,
  text_only: 2,
  type: 10,
  state: 5,
  stage: 6,
  kind: 4,
  approval: 4,
  notification_source: 12,
  op: 12,
  resource: 100,
  actor_name: 1_000,
  load_source_pk: 4,
  incident_pk: 10_000,
  scenario_notification_pk: 10_000,
};

/** Plans that read much of a large table, and why they may. */
const ALLOWED: readonly { sql: RegExp; reason: string }[] = [
  {
    sql: /^SELECT .* FROM \(SELECT t\."pk" AS "key" FROM "\w+" t (?!WHERE).*LIMIT \d+ OFFSET \?\)/s,
    reason: "A page of a list without a condition ends after its rows.",
  },
  {
    sql: /^SELECT .* FROM \(SELECT t\."pk" AS "key" FROM "\w+" t WHERE .*LIMIT \d+ OFFSET \?\)/s,
    reason: "Lists with conditions read tables from 2,000 rows on in chunks (chunked-pager.ts).",
  },
  {
    sql: /^SELECT count\(\*\) AS "what" FROM "\w+" t/,
    reason: "Larger tables are counted in chunks (chunked-pager.ts).",
  },
  {
    sql: /^SELECT \(SELECT count\(\*\) FROM \(SELECT rowid FROM \w+__search/,
    reason: "Asks the index; the outer table has LIMIT 1.",
  },
  { sql: /^SELECT 1 FROM main\."\w+" LIMIT 1 OFFSET 999$/, reason: "Ends after 1,000 rows." },
  { sql: /^SELECT COUNT\(\*\) AS n FROM \(SELECT 1 FROM \w+ LIMIT 2001\)$/, reason: "Ends after 2,001 rows." },
  {
    sql: /^DELETE FROM system_health_events WHERE pk <=/,
    reason: "Runs with each new entry and removes the few beyond the newest 10,000.",
  },
  { sql: /^SELECT pk, hash FROM audit_entries ORDER BY pk DESC LIMIT 1$/, reason: "Reads the last row." },
];

const clock = createHurriedClock(30);
const collector = collectStatements();
let daemon: TestDaemon;

async function make(path: string, body: object): Promise<string> {
  const made = await daemon.call<Row>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

/** Some minutes of the daemon's clock: the bell rings, detectors and periodic jobs run. */
async function letMinutesPass(): Promise<void> {
  const until = clock.now() + 6 * 60_000;
  // On a loaded machine some periodic work comes later.
  const isDone = ({ sql }: (typeof ALLOWED)[number]): boolean =>
    [...collector.statements.values()].some((statements) =>
      [...statements].some((each) => sql.test(each) && LARGE_TABLE.test(each)),
    );
  await eventually(async () => clock.now() > until && ALLOWED.every(isDone));
}

/** Loads a file twice, the second time without one of its people. */
async function load(): Promise<void> {
  const id = await make("/load-definitions", { name: "School", type: "table", deleteMissing: true });
  for (const people of ["a@example.org,Anna,Choir\nb@example.org,Ben,Choir", "a@example.org,Anne,Choir"]) {
    const headers = {
      authorization: `Bearer ${daemon.first.token}`,
      ...{ "content-type": "text/csv", "x-file-name": "people.csv" },
    };
    const body = `email,name,lists\n${people}\n`;
    await fetch(`${daemon.url}/api/v1/load-definitions/${id}/file`, { method: "PUT", headers, body });
    const run = await make(`/load-definitions/${id}/runs`, {});
    await eventually(async () => {
      const { body } = await daemon.call("GET", `/load-definitions/${id}/runs/${run}`);
      return body.endedAt !== null;
    });
  }
}

/** Lists every resource and reads its first row, with the lists below it. */
async function readEverything(): Promise<void> {
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const known = new Map<string, string>();
  for (let round = 0; round < 3; round++) {
    for (const resource of catalogue.all) {
      for (const { at } of resource.paths) {
        const path = at.replace(/\{(\w+)\}/g, (_, name: string) => known.get(name) ?? "?");
        if (path.includes("?")) continue;
        const sorts = ["", "sort=-createdAt", "sort=name", "q=bell", "skip=10"];
        for (const query of sorts) {
          const { status, body } = await daemon.call<{ data?: Row[] }>("GET", `/${path}?limit=10&${query}`);
          const id = status === 200 ? body.data?.[0]?.id : undefined;
          if (id) known.set(resource.idParam, id);
        }
        const id = known.get(resource.idParam);
        if (id) await daemon.call("GET", `/${path}/${id}`);
      }
    }
  }
}

beforeAll(async () => {
  daemon = await startTestDaemon({ clock });
  const { extensionId, endpointId } = daemon.first;
  const devices = `/extensions/${extensionId}/endpoints/${endpointId}/devices`;
  const attributes = { Group: "239.192.99.7", Port: "20480", Codec: "PCMU", TTL: "1" };
  const zone = await make(devices, {
    type: "speakers",
    deviceIdentifier: "zone:hall",
    description: "Hall",
    attributes,
  });
  await make(devices, { type: "phones", deviceIdentifier: "SEP001122334455", description: "Room 1" });
  const filters = [{ attribute: "Name", comparison: "BEGINS_WITH", value: "z" }];
  const group = await make("/device-groups", { name: "Zones", filterType: "AND", filters });
  const user = await make("/users", { name: "Ann", email: "ann@example.org" });
  await make(`/users/${user}/devices`, { type: "email", name: "Mail" });
  const list = await make("/distribution-lists", { name: "Staff" });
  await make(`/users/${user}/subscriptions`, { distributionListId: list });
  const template = await make("/message-templates", { name: "Bell", subject: "Bell", deviceGroupIds: [group] });
  const cancelling = { name: "All", subject: "All", deviceGroupIds: [group], cancelNotificationsType: "all" };
  const clears = await make("/message-templates", cancelling);
  const confirmation = await make("/confirmation-requests", { name: "OK?", options: ["Yes", "No"] });
  const message = { subject: "Lunch", body: "Now", distributionListIds: [list], deviceGroupIds: [group] };
  const sent = [
    await make("/notifications", {
      ...message,
      alertTone: "chime",
      confirmationRequestId: confirmation,
      expiration: 600,
    }),
    await make("/notifications", { ...message, priority: "critical", additionalDeviceIds: [zone] }),
    await make("/notifications", { ...message, draft: true }),
    await make("/notifications", { messageTemplateId: clears }),
  ];
  const now = new Date(Date.now() + 3 * 60_000).toISOString();
  const entries = [{ time: now.slice(11, 19), messageTemplateId: template }];
  const ringListId = await make("/ring-lists", { name: "Day", entries });
  const days = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
  const year = new Date().getUTCFullYear();
  const span = { startDate: `${year}-01-01`, endDate: `${year + 1}-12-31`, numWeeks: 1, bellScheduleEntries: days };
  await make("/bell-schedules", { name: "School", timeZone: "UTC", ...span });
  const plan = await make("/incident-plans", { name: "Fire" });
  await make("/incidents", { incidentPlanId: plan, name: "Fire" });
  await eventually(async () => {
    const { body } = await daemon.call<{ progress: Record<string, number> }>("GET", `/notifications/${sent[0]}`);
    return body.progress.percentComplete === 100;
  });
  await load();
  await readEverything();
  await daemon.call("DELETE", `/users/${user}`);
  await letMinutesPass();
  collector.restore();
});
afterAll(async () => {
  collector.restore();
  await daemon?.stop();
});

/** Steps that read much although nothing allows it, of all databases of this process. */
function poorSteps(): PoorStep[] {
  return openDatabases().flatMap(([db, statements]) => {
    pretendSizes(db, YEAR, VALUES);
    return [...statements].flatMap((sql) => findPoorSteps(db, sql));
  });
}

const openDatabases = () => [...collector.statements].filter(([db]) => db.open && db.name.endsWith("carillon.db"));

describe("the statements of a day's work", () => {
  it("read no large table as a whole, unless there is a reason", () => {
    const [db] = openDatabases()[0] ?? [];
    expect(db && [...(collector.statements.get(db) ?? [])].length).toBeGreaterThan(500);
    const found = poorSteps().filter(({ sql }) => !ALLOWED.some((each) => each.sql.test(sql)));
    expect(found).toEqual([]);
  });

  it("use every reason that is listed", () => {
    const found = poorSteps();
    const unused = ALLOWED.filter((each) => !found.some(({ sql }) => each.sql.test(sql)));
    expect(unused).toEqual([]);
  });

  it.each([
    ["SELECT * FROM deliveries WHERE reason = ?", "deliveries", "SCAN deliveries"],
    ["SELECT id FROM notifications WHERE stage = ?", "notifications", "SCAN notifications"],
    ["UPDATE main.users SET application = NULL WHERE lock = ?", "users", "SCAN main.users"],
    ["DELETE FROM audit_entries WHERE actor_name = ?", "audit_entries", "SCAN audit_entries"],
    ["SELECT id FROM audit_entries WHERE op = ?", "audit_entries", "SEARCH audit_entries USING INDEX"],
    ["SELECT 1 FROM users u JOIN deliveries l ON l.name = u.name WHERE u.id = ?", "deliveries", "deliveries__"],
    ["SELECT id FROM notification_recipients WHERE pk > ?", "notification_recipients", "(rowid>?)"],
  ])("would be found out: %s", (sql, table, step) => {
    const [db] = openDatabases()[0] as [Database.Database, unknown];
    pretendSizes(db, YEAR, VALUES);
    expect(findPoorSteps(db, sql)).toMatchObject([{ sql, table, step: expect.stringContaining(step) }]);
  });
});
