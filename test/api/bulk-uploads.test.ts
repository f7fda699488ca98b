import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openUploadLink, signUploadLink } from "../../src/http/upload-links.ts";
import type { BulkUpload } from "../../src/importers/bulk-upload-run.ts";
import { systemClock } from "../../src/lib/clock.ts";
import bellSchedules from "../../src/resources/bells/bell-schedules.ts";
import ringLists from "../../src/resources/bells/ring-lists.ts";
import deviceGroups from "../../src/resources/devices/device-groups.ts";
import devices from "../../src/resources/devices/devices.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import messageTemplates from "../../src/resources/messages/message-templates.ts";
import users from "../../src/resources/people/users.ts";
import userPermissions from "../../src/resources/security/user-permissions.ts";
import bulkUploads from "../../src/resources/uploads/bulk-uploads.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";

let api: ApiFixture;
let dir: string;
beforeEach(async () => {
  dir = makeTempDir();
  api = await openApi(dir);
  const { store, system } = api;
  const onprem = { id: ONPREM_EXTENSION_ID };
  await store.create(extensions, { name: "onprem", type: "endpoint-proxy" }, system, onprem);
  await store.create(endpoints, { extensionId: ONPREM_EXTENSION_ID, name: "Main" }, system);
});
afterEach(() => api.close());

const TSV = { "content-type": "text/tab-separated-values" };

async function announce(resourceType: string, more: object = {}): Promise<string> {
  const made = await api.call("POST", "/bulk-uploads", { json: { resourceType, ...more } });
  expect(made).toMatchObject({
    status: 200,
    body: { status: "PENDING", url: expect.stringContaining("/api/v1/bulk-upload-files/") },
  });
  return made.body.id;
}

async function ended(id: string): Promise<ReceivedResponse["body"]> {
  for (;;) {
    const { body } = await api.call("GET", `/bulk-uploads/${id}`);
    if (body.status !== "PENDING" && body.status !== "RUNNING") return body;
  }
}

/** Sends a table and waits for what comes of it. */
async function upload(type: string, lines: readonly string[], more: object = {}): Promise<ReceivedResponse["body"]> {
  const id = await announce(type, more);
  const sent = await api.call("PUT", `/bulk-uploads/${id}/file`, { headers: TSV, body: lines.join("\n") });
  expect(sent.status).toBe(200);
  return ended(id);
}

const logsOf = async (id: string, query = ""): Promise<ReceivedResponse["body"][]> =>
  (await api.call("GET", `/bulk-uploads/${id}/logs?limit=1000${query}`)).body.data;

/** All tables but those that an upload may leave traces in. */
function everythingElse(): unknown {
  const traces =
    /^(bulk_upload|staged_batches|audit_entries|changes|sqlite_|search_pending|idempotency_keys|user_tokens)/;
  const tables = api.store.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  return tables
    .filter(({ name }) => !traces.test(name) && !name.includes("__search"))
    .map(({ name }) => [name, api.store.all(`SELECT * FROM ${name}`)]);
}

const zones = (count: number): string[] => [
  "deviceIdentifier\tdescription\tattributes.Group\tattributes.Port",
  ...Array.from({ length: count }, (_, at) => `zone:Z${at}\tZone ${at}\t239.1.${at >> 8}.${at & 255}\t5004`),
];

it("uploads are listed by the domain that their rows are made in", async () => {
  const id = await announce("ring-lists");
  const { domainId } = (await api.call("GET", `/bulk-uploads/${id}`)).body;
  const found = async (domain: string) => (await api.call("GET", `/bulk-uploads?domainId=${domain}`)).body.total;
  expect([await found(domainId), await found(id)]).toEqual([1, 0]);
  expect((await api.call("GET", "/bulk-uploads?domainId=x")).status).toBe(400);
});

describe("an upload of bells", () => {
  it("takes rings and days as people write them, or as JSON", async () => {
    const { store, system } = api;
    await store.create(messageTemplates, { name: "Bell", subject: "Bell" }, system);
    const gym = await store.create(deviceGroups, { name: "Gym" }, system);
    const lists = await upload("ring-lists", [
      "name\tentries",
      "Normal\t07:45=Bell; 08:30:00=Bell -> Gym",
      `Short\t[{"time":"07:45:00","messageTemplateId":"${store.find(messageTemplates, {})[0]?.id}"}]`,
    ]);
    expect(lists).toMatchObject({ status: "COMPLETE", errorCount: 0 });
    const [normal, short] = store.find(ringLists, {});
    expect(normal?.entries).toMatchObject([{ time: "07:45:00" }, { time: "08:30:00", deviceGroupIds: [gym.id] }]);
    const head = "name\tnumWeeks\tstartDate\tendDate\tbellScheduleEntries\tbellScheduleExceptions";
    const line = "School\t1\t2031-09-01\t2032-06-30\t0-3=Normal;4=Short\t2031-12-22..2032-01-02=;2031-10-03=Short";
    expect(await upload("bell-schedules", [head, line])).toMatchObject({ status: "COMPLETE" });
    expect(store.find(bellSchedules, {})).toMatchObject([
      {
        bellScheduleEntries: [
          { entryNum: 0, ringListId: normal?.id },
          {},
          {},
          {},
          { entryNum: 4, ringListId: short?.id },
        ],
        bellScheduleExceptions: [
          { startDate: "2031-10-03", endDate: "2031-10-03", ringListId: short?.id },
          { startDate: "2031-12-22", endDate: "2032-01-02", ringListId: null },
        ],
      },
    ]);
    const wrong = await upload("bell-schedules", [
      head,
      line.replace("School", "Other").replace("0-3=Normal", "Monday"),
    ]);
    expect(wrong).toMatchObject({ status: "ERROR", errorCount: 1 });
    expect((await logsOf(wrong.id))[0].errors[0].field).toBe("bellScheduleEntries");
  });
});

describe("an upload", () => {
  it("makes a row of each line, with names for references and semicolons between items", async () => {
    const { store, system } = api;
    const base = await store.create(deviceGroups, { name: "Base" }, system);
    const done = await upload("device-groups", [
      "name\tbaseDeviceGroupIds\tisShared",
      "East\tBase\ttrue",
      "",
      `Both\tEast;${base.id}\t`,
    ]);
    expect(done).toMatchObject({ status: "COMPLETE", percentage: 100, lineCount: 2, errorCount: 0 });
    const [east] = store.find(deviceGroups, { name: "East" });
    const [both] = store.find(deviceGroups, { name: "Both" });
    expect(east).toMatchObject({ baseDeviceGroupIds: [base.id], isShared: true, domainId: api.rootId });
    expect(both?.baseDeviceGroupIds).toEqual([east?.id, base.id]);
    expect(await logsOf(done.id)).toMatchObject([
      { line: 2, resourceCreated: true, resourceName: "East", resourceResponse: "Created.", resourceId: east?.id },
      { line: 4, resourceCreated: true, resourceName: "Both" },
    ]);
    const told = store.all("SELECT actor_name FROM audit_entries WHERE resource = 'device-groups' AND op = 'create'");
    expect(told).toEqual([{ actor_name: "test" }, { actor_name: "Admin" }, { actor_name: "Admin" }]);
    expect((await api.call("GET", "/device-groups?q=both")).body.data).toHaveLength(1);
  });

  it("makes nothing when one line is wrong, and says every fault of every line with its number", async () => {
    const before = everythingElse();
    const done = await upload("device-groups", [
      "name\tisShared\tbaseDeviceGroupIds",
      "Good\ttrue\t",
      "\t\tNowhere",
      "More\t\t\tcells",
    ]);
    expect(done).toMatchObject({ status: "ERROR", lineCount: 3, errorCount: 2 });
    expect(everythingElse()).toEqual(before);
    const bad = await logsOf(done.id, "&resourceCreated=false");
    expect(bad.map(({ line }) => line)).toEqual([3, 4]);
    expect(bad[0]).toMatchObject({ domainId: api.rootId });
    expect(bad[0]).not.toHaveProperty("domain");
    const ofDomain = await logsOf(done.id, `&domainId=${api.rootId}&includeDomain=true&resourceCreated=false`);
    expect(ofDomain).toMatchObject([{ line: 3, domain: { id: api.rootId } }, { line: 4 }]);
    expect(ofDomain[0].domain.name).toEqual(expect.any(String));
    const one = await api.call("GET", `/bulk-uploads/${done.id}/logs/${ofDomain[0].id}?includeDomain=true`);
    expect(one.body.domain).toEqual(ofDomain[0].domain);
    expect(await logsOf(done.id, `&domainId=${done.id}`)).toEqual([]);
    expect((await api.call("GET", `/bulk-uploads/${done.id}/logs?domainId=x`)).status).toBe(400);
    expect((await api.call("GET", `/bulk-uploads/${api.rootId}/logs`)).status).toBe(404);
    expect(bad[0]).toMatchObject({ resourceResponse: expect.stringContaining("with the name Nowhere was found") });
    expect(await logsOf(done.id, "&resourceCreated=true")).toHaveLength(1);
  });

  it.each([
    ["an unknown column", ["name\tnonsense", "A\tB"], 1, "Unknown column nonsense"],
    ["a read-only column", ["name\tid", "A\tB"], 1, "Unknown column id"],
    ["a column that stands twice", ["name\tname", "A\tB"], 1, "Duplicate column"],
    ["no line", ["name"], 2, "at least one line"],
    ["an empty file", [""], 1, "empty"],
    ["an open quote", ["name", '"A'], 2, "not closed"],
  ])("refuses %s", async (_what, lines, line, words) => {
    const done = await upload("device-groups", lines);
    expect(done.status).toBe("ERROR");
    expect(await logsOf(done.id)).toMatchObject([{ line, resourceResponse: expect.stringContaining(words) }]);
  });

  it("names the line of a file that is damaged, and reads files of other programs as they are written", async () => {
    const send = async (body: Buffer) => {
      const id = await announce("device-groups");
      await api.call("POST", `/bulk-uploads/${id}/file`, { headers: TSV, body });
      return ended(id);
    };
    const damaged = Buffer.concat([Buffer.from("name\n\xe4\xdf\n"), Buffer.from("S\xfcd\nOst\n", "latin1")]);
    const { id, status } = await send(damaged);
    expect(status).toBe("ERROR");
    expect(await logsOf(id)).toMatchObject([{ line: 2 }, { line: 3, resourceCreated: false }, { line: 4 }]);
    expect(await send(Buffer.from("name;isShared\nS\xfcd;true\n", "latin1"))).toMatchObject({ status: "COMPLETE" });
    expect(api.store.find(deviceGroups, {})).toMatchObject([{ name: "S\xfcd", isShared: true }]);
  });

  it("rejects undeclared types, archives, other appliances and callers without permission to create such rows", async () => {
    const refused = async (json: object, field: string) =>
      expect(await api.call("POST", "/bulk-uploads", { json })).toMatchObject({
        status: 400,
        body: { errors: [{ field }] },
      });
    await refused({ resourceType: "badges" }, "resourceType");
    await refused({ resourceType: "speakers", contentType: "application/zip" }, "contentType");
    const { token } = await api.user("Clerk", "post /bulk-uploads");
    const asked = await api.call("POST", "/bulk-uploads", { token, json: { resourceType: "speakers" } });
    expect(asked.status).toBe(403);
    const form = await api.call("PUT", `/bulk-uploads/${await announce("speakers")}/file`, { json: {} });
    expect(form.status).toBe(415);
  });

  it("takes a comma-separated file, and apostrophes that keep spreadsheets from computing", async () => {
    const id = await announce("device-groups", { contentType: "text/csv" });
    const body = '\ufeffname,isShared\r\n"\'=East, ""big""",true\r\n';
    await api.call("POST", `/bulk-uploads/${id}/file`, { headers: { "content-type": "text/csv" }, body });
    expect(await ended(id)).toMatchObject({ status: "COMPLETE" });
    expect(api.store.find(deviceGroups, { name: '=East, "big"' })).toHaveLength(1);
  });

  it("leaves nothing in test mode but its logs; a commit makes the rows", async () => {
    const before = everythingElse();
    const tried = await upload("speakers", zones(5_000), { testMode: true });
    expect(tried).toMatchObject({ status: "success", lineCount: 5_000, errorCount: 0 });
    expect(everythingElse()).toEqual(before);
    expect((await api.call("POST", `/bulk-uploads/${tried.id}/commit`)).status).toBe(200);
    expect(await ended(tried.id)).toMatchObject({ status: "COMPLETE" });
    const [first] = api.store.find(devices, { deviceIdentifier: "zone:Z0" });
    expect(first).toMatchObject({ type: "speakers", attributes: { Group: "239.1.0.0", Port: "5004" } });
    expect(api.store.count(devices, {})).toBe(5_000);
    expect(api.store.one("SELECT count(*) n FROM bulk_upload_logs")).toEqual({ n: 5_000 });
    expect((await api.call("POST", `/bulk-uploads/${tried.id}/commit`)).status).toBe(409);
  });

  it("stops at the line that passes a limit, and nothing is made", async () => {
    const lines = Array.from({ length: 3_501 }, (_, at) => `Group ${at}`);
    const done = await upload("device-groups", ["name", ...lines]);
    expect(done).toMatchObject({ status: "ERROR", errorCount: 1 });
    expect(await logsOf(done.id, "&resourceCreated=false")).toMatchObject([
      {
        ...{ line: 3_502, resourceResponse: "Limit of 3500 device-groups reached." },
        ...{ errors: [{ type: "limit-exceeded" }], errorSentences: [{ code: expect.stringMatching(/^limit\./) }] },
      },
    ]);
    expect(api.store.count(deviceGroups, {})).toBe(0);
  });

  it("is cancelled by deleting it", async () => {
    const before = everythingElse();
    const id = await announce("speakers");
    await api.call("PUT", `/bulk-uploads/${id}/file`, { headers: TSV, body: zones(20_000).join("\n") });
    while ((await api.call("GET", `/bulk-uploads/${id}`)).body.percentage < 10);
    expect((await api.call("DELETE", `/bulk-uploads/${id}`)).status).toBe(200);
    const next = await upload("device-groups", ["name", "After"]);
    expect(next.status).toBe("COMPLETE");
    expect(api.store.count(devices, {})).toBe(0);
    await api.call("DELETE", `/device-groups/${api.store.find(deviceGroups, { name: "After" })[0]?.id}`);
    expect(everythingElse()).toEqual(before);
  });

  it("leaves nothing when the appliance ends in the middle, and says so after the restart", async () => {
    const before = everythingElse();
    const id = await announce("speakers");
    await api.call("PUT", `/bulk-uploads/${id}/file`, { headers: TSV, body: zones(20_000).join("\n") });
    while ((await api.call("GET", `/bulk-uploads/${id}`)).body.percentage < 10);
    await api.close();
    api = await openApi(dir);
    expect((await api.call("GET", `/bulk-uploads/${id}`)).body).toMatchObject({ status: "ERROR" });
    expect(everythingElse()).toEqual(before);
    expect(api.store.one("SELECT count(*) n FROM devices")).toEqual({ n: 0 });
  });

  it("offers an empty table of each kind", async () => {
    const { status, text } = await api.call("GET", "/bulk-uploads/templates/speakers");
    expect([status, text]).toEqual([200, "deviceIdentifier\tdescription\tattributes\tzoneId\tdefunct\n"]);
    expect((await api.call("GET", "/bulk-uploads/templates/badges")).status).toBe(400);
  });

  it("offers none of what can't be uploaded", async () => {
    const template = await api.call("GET", "/bulk-uploads/templates/users");
    const announced = await api.call("POST", "/bulk-uploads", { json: { resourceType: "users" } });
    expect([template.status, announced.status]).toEqual([400, 400]);
    expect(template.text).toContain("Must be one of message-templates, device-groups");
  });

  it("says once of a column without which no line can be right that it is missing", async () => {
    const done = await upload("device-groups", ["isShared", "true", "false", "true"]);
    expect(done).toMatchObject({ status: "ERROR", lineCount: 0, errorCount: 1 });
    const fault = { field: "name", type: "required", message: "Column name is required." };
    expect(await logsOf(done.id)).toMatchObject([{ line: 1, resourceCreated: false, errors: [fault] }]);
  });
});

describe("the URL of a new upload", () => {
  const lines = ["name\tdescription", "Mondays\tBells"].join("\n");
  const announced = async (more: object = {}) =>
    (await api.call("POST", "/bulk-uploads", { json: { resourceType: "ring-lists", ...more } })).body;
  const pathOf = (url: string) => new URL(url).pathname.replace("/api/v1", "");
  const send = (url: string) => api.call("PUT", pathOf(url), { token: null, body: lines });

  it("takes the file without credentials, once, whatever its content type", async () => {
    const form = { "content-type": "application/x-www-form-urlencoded" };
    for (const [method, headers] of [
      ["PUT", {}],
      ["POST", TSV],
      ["PUT", form],
    ] as const) {
      await api.call("DELETE", "/ring-lists", {
        json: { id: (await api.call("GET", "/ring-lists")).body.data[0]?.id },
      });
      const { id, url, urlExpiresAt } = await announced();
      expect(Date.parse(urlExpiresAt) - Date.now()).toBeLessThanOrEqual(3_600_000);
      expect(await api.call(method, pathOf(url), { token: null, body: lines, headers })).toMatchObject({
        status: 200,
        body: { id },
      });
      expect(await ended(id)).toMatchObject({ status: "COMPLETE", lineCount: 1 });
      expect((await send(url)).status).toBe(409);
    }
    expect((await api.call("GET", "/ring-lists")).body.total).toBe(1);
  });

  it("is shown to its creator alone, and is not guessed", async () => {
    const { id, url } = await announced();
    const shown = (await api.call("GET", `/bulk-uploads/${id}`)).body;
    expect([shown.url.endsWith(`/bulk-uploads/${id}/file`), "urlExpiresAt" in shown]).toEqual([true, false]);
    const altered = `${url.slice(0, -1)}${url.endsWith("0") ? "1" : "0"}`;
    for (const forged of [altered, url.replace(/[0-9a-f]{8}$/, ""), `${url}00`])
      expect((await send(forged)).status).toBe(404);
    expect((await send(url.replace("bulk-upload-files", "bulk-uploads"))).status).toBe(405);
  });

  it("has the rights that its user has when the file comes", async () => {
    const writer = await api.user("Wes", "post /bulk-uploads", "get /bulk-uploads/*", "post /ring-lists");
    const make = async () =>
      (await api.call("POST", "/bulk-uploads", { token: writer.token, json: { resourceType: "ring-lists" } })).body.url;
    const [first, second, third] = [await make(), await make(), await make()];
    const grant = api.store.find(userPermissions, { userId: writer.id }).find(({ spec }) => spec === "/ring-lists");
    await api.store.remove(userPermissions, grant?.id ?? "", api.system);
    expect((await send(first)).status).toBe(403);
    await api.store.create(userPermissions, { userId: writer.id, verb: "post", spec: "/ring-lists" }, api.system);
    expect((await send(second)).status).toBe(200);
    await api.store.update(users, writer.id, { lock: { start: null, end: null } }, api.system);
    expect((await send(third)).status).toBe(403);
    await api.store.remove(users, writer.id, api.system);
    expect((await send(third)).status).toBe(404);
  });

  it("expires", async () => {
    const row = api.store.get(bulkUploads, (await announced()).id) as BulkUpload;
    const by = { ...api.system, actor: { ...api.system.actor, kind: "user" as const, userId: api.adminId } };
    const access = { resolveScope: () => api.system.scope };
    const at = (ms: number) => ({ store: api.store, access, clock: { ...systemClock, now: () => ms } });
    const link = signUploadLink(row, by, at(1_000));
    expect(link?.expiresAt).toBe(3_601_000);
    expect(openUploadLink(link?.token ?? "", null, at(3_600_999)).id).toBe(row.id);
    expect(() => openUploadLink(link?.token ?? "", null, at(3_601_000))).toThrow("has expired");
    expect(signUploadLink(row, api.system, at(1_000))).toBe(null);
  });
});
