import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { type ContractBody, createContractClient } from "./contract-client.ts";

let daemon: TestDaemon;
const { call, create, refusal } = createContractClient(() => daemon);
let stranger: string;
beforeAll(async () => {
  daemon = await startTestDaemon();
  const eve = await create("/users", { name: "Eve", email: "eve@example.org" });
  stranger = (await create(`/users/${eve.id}/tokens`, { name: "t" })).token;
});
afterAll(() => daemon.stop());

/** What the on-premises spelling answers. */
async function onPremises(
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: ContractBody }> {
  const headers = { authorization: `Bearer ${daemon.first.token}`, "content-type": "application/json" };
  const sent = { method, headers, body: body ? JSON.stringify(body) : null };
  const response = await fetch(`${daemon.url}/api/onprem/v1${path}`, sent);
  return { status: response.status, body: JSON.parse(await response.text()) };
}

describe("the administration of the appliance", () => {
  it("returns the settings in force", async () => {
    const { status, body } = await call("GET", "/settings");
    const [targets] = (body.settings as ContractBody[]).filter(({ name }) => name === "network.allowedTargets");
    expect([status, body.fault, targets]).toEqual([
      200,
      null,
      expect.objectContaining({ value: JSON.stringify(["127.0.0.0/8"]), default: "[]", next: null }),
    ]);
  });

  it("returns the time zone data that bells follow", async () => {
    const { body } = await call("GET", "/time-zone-data");
    const sources = body.sources as ContractBody[];
    expect(sources.map(({ isInUse }) => isInUse)).toEqual(sources.map((_, at) => at === 0));
    const fromNode = { kind: "node", version: expect.stringMatching(/^20\d\d[a-z]/) };
    expect(sources).toContainEqual(expect.objectContaining(fromNode));
    expect([body.problems, body.changes]).toEqual([[], []]);
  });

  it("returns backups, past states, and the start latency of device models", async () => {
    const backups = (await call("GET", "/backups")).body;
    expect(backups).toMatchObject({
      folder: expect.stringContaining("/"),
      encrypted: false,
      provenAt: null,
      failedAt: null,
      backups: [],
    });
    const series = await call("GET", "/health-series");
    expect([series.status, series.body]).toEqual([200, { samples: expect.any(Array) }]);
    expect((await call("GET", "/start-delays")).body).toEqual({ models: [] });
  });

  it("accepts holidays in the on-premises spelling and reports errors of a calendar", async () => {
    const { id } = await create("/bell-schedules", {
      ...{ name: "Term", numWeeks: 1, startDate: "2031-09-01", endDate: "2032-06-30" },
    });
    const day = ["BEGIN:VEVENT", "UID:1", "DTSTART;VALUE=DATE:20311003", "SUMMARY:Unity", "END:VEVENT"];
    const calendar = ["BEGIN:VCALENDAR", "VERSION:2.0", ...day, "END:VCALENDAR", ""].join("\r\n");
    const take = async (body: string, schedule = id) => {
      const headers = { authorization: `Bearer ${daemon.first.token}`, "content-type": "text/calendar" };
      const path = `${daemon.url}/api/onprem/v1/bells/${schedule}/holidays`;
      const answer = await fetch(path, { method: "POST", headers, body });
      return { status: answer.status, body: JSON.parse(await answer.text()) };
    };
    expect(await take(calendar)).toMatchObject({ status: 200, body: { imported: 1 } });
    const { bellScheduleExceptions } = (await call("GET", `/bell-schedules/${id}`)).body;
    expect(bellScheduleExceptions).toMatchObject([{ startDate: "2031-10-03", endDate: "2031-10-03" }]);
    expect((await take("no calendar")).status).toBe(400);
    expect((await take(calendar, UNKNOWN_ID)).status).toBe(404);
  });

  it.each(["/settings", "/backups", "/health-series", "/start-delays", "/time-zone-data"])(
    "shows %s to nobody without permission",
    async (path) => {
      expect(await refusal("GET", path, undefined, stranger)).toBe("403 forbidden");
      expect(await refusal("POST", path, {})).toBe("405 method-not-allowed");
    },
  );

  it("returns the failover status in the on-premises spelling", async () => {
    const { extensionId, endpointId } = daemon.first;
    const { status, body } = await onPremises("GET", `/endpoints/${endpointId}/failover-status`);
    expect([status, body.role, body.state]).toEqual([200, "standalone", "active"]);
    const older = await call("GET", `/extensions/${extensionId}/endpoints/${endpointId}/failover-status`);
    expect(body).toEqual(older.body);
    expect((await onPremises("GET", `/endpoints/${UNKNOWN_ID}/failover-status`)).status).toBe(404);
  });
});

describe("a device", () => {
  const device = (more: object) =>
    create(`/extensions/${daemon.first.extensionId}/devices`, {
      endpointId: daemon.first.endpointId,
      description: "Yard",
      ...more,
    });

  it("is tested silently, and the response explains why an unserved device fails", async () => {
    const { id } = await device({ type: "phones", deviceIdentifier: "SEP001122334455" });
    const { status, body } = await call("POST", `/devices/${id}/quiet-test`);
    expect([status, body]).toEqual([
      200,
      {
        ...{ testedAt: expect.stringMatching(/Z$/), provenAt: null, provenBy: null },
        ...{ fault: expect.stringMatching(/\w/), faultSentence: expect.objectContaining({ code: expect.anything() }) },
      },
    ]);
    expect((await call("GET", `/devices/${id}`)).body.provenAt).toBeNull();
    expect(await refusal("POST", `/devices/${UNKNOWN_ID}/quiet-test`)).toBe("404 not-found");
    expect(await refusal("POST", `/devices/${id}/quiet-test`, {}, stranger)).toMatch(/^40[34] /);
  });

  it("has a configuration only if it is a phone, which says why it could not be read", async () => {
    const { id } = await device({ type: "phones", deviceIdentifier: "SEP001122334456" });
    const { status, body } = await call("POST", `/devices/${id}/phone-configuration`);
    expect([status, body]).toEqual([
      200,
      {
        ...{ readAt: expect.stringMatching(/Z$/), server: null, file: null, configuration: null },
        problems: [
          {
            ...{ code: "no-server", severity: "unknown", words: expect.stringMatching(/^There is no TFTP server/) },
            wordsSentence: { code: "phone-configuration.no-server", params: {} },
          },
        ],
      },
    ]);
    const zone = await device({ type: "speakers", deviceIdentifier: "zone:Pool", attributes: { Group: "239.1.2.4" } });
    expect(await refusal("POST", `/devices/${zone.id}/phone-configuration`)).toBe("409 conflict");
    expect(await refusal("POST", `/devices/${UNKNOWN_ID}/phone-configuration`)).toBe("404 not-found");
    expect(await refusal("POST", `/devices/${id}/phone-configuration`, {}, stranger)).toMatch(/^40[34] /);
  });

  it("describes where it is heard only if it is a zone", async () => {
    const attributes = { Group: "239.1.2.3", Port: "20480" };
    const zone = await device({ type: "speakers", deviceIdentifier: "zone:Yard", attributes });
    const headers = { authorization: `Bearer ${daemon.first.token}` };
    const answer = await fetch(`${daemon.url}/api/v1/devices/${zone.id}/zone.sdp`, { headers });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/sdp"]);
    expect((await answer.text()).split("\r\n")).toEqual(
      expect.arrayContaining(["s=Yard", "m=audio 20480 RTP/AVP 0", "c=IN IP4 239.1.2.3/16"]),
    );
    const { id } = await device({ type: "phones", deviceIdentifier: "SEP001122334466" });
    for (const none of [id, UNKNOWN_ID])
      expect(await refusal("GET", `/devices/${none}/zone.sdp`)).toBe("404 not-found");
    expect(await refusal("GET", `/devices/${zone.id}/zone.sdp`, undefined, stranger)).toMatch(/^40[34] /);
  });
});

describe("a call manager", () => {
  const input = {
    axlAddress: "127.0.0.1:1",
    axlUser: "axl",
    axlPassword: "secret",
    snmpVersion: "2",
    snmpCommunity: "p",
  };

  it.each([
    ["v1", (method: string, path: string, body?: object) => call(method, `/callmgr-clusters${path}`, body)],
    [
      "on premises",
      (method: string, path: string, body?: object) => onPremises(method, `/admin/telephony${path}`, body),
    ],
  ] as const)("is tried and read, and the appliance says how that stands: %s", async (name, ask) => {
    const { id } = await create("/callmgr-clusters", { ...input, name });
    const tried = await ask("POST", `/${id}/connection-test`);
    expect([tried.status, tried.body]).toEqual([
      200,
      { ok: false, checks: [expect.objectContaining({ what: "axl", host: "127.0.0.1:1", ok: false, needed: true })] },
    ]);
    const state = await ask("GET", `/${id}/phone-cache`);
    expect([state.status, state.body]).toEqual([200, expect.objectContaining({ state: "elsewhere", rowsRead: 0 })]);
    expect((await ask("POST", `/${id}/phone-cache`, { kind: "delta" })).status).toBe(409);
    expect((await ask("POST", `/${id}/phone-cache`, { kind: "half" })).body).toMatchObject({ status: 400 });
    for (const [method, path] of [
      ["POST", "connection-test"],
      ["GET", "phone-cache"],
      ["POST", "phone-cache"],
    ] as const) {
      expect((await ask(method, `/${UNKNOWN_ID}/${path}`)).status).toBe(404);
      expect(await refusal(method, `/callmgr-clusters/${id}/${path}`, undefined, stranger)).toMatch(/^40[34] /);
    }
    const server = await create(`/callmgr-clusters/${id}/onprem-servers`, {
      endpointId: daemon.first.endpointId,
      cmAddress: "127.0.0.1",
      cmUsername: "cti",
    });
    const chosen = await ask("POST", `/${id}/onprem-servers/${server.id}/phone-gatherer`);
    expect([chosen.status, chosen.body]).toEqual([
      200,
      expect.objectContaining({ id: server.id, isPhoneGatherer: true }),
    ]);
    expect((await ask("POST", `/${id}/onprem-servers/${UNKNOWN_ID}/phone-gatherer`)).status).toBe(404);
    const begun = await ask("POST", `/${id}/phone-cache`, { kind: "delta" });
    expect([begun.status, begun.body.rowsRead]).toEqual([200, 0]);
    await expect.poll(async () => (await ask("GET", `/${id}/phone-cache`)).body.code).toBe("connect");
  });
});
