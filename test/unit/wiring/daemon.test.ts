import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { asGiven } from "../../../src/lib/sentences/sentences.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import { defaultSettings } from "../../../src/settings/schema.ts";
import { sendControlCommand } from "../../../src/wiring/control-socket.ts";
import { startDaemon } from "../../../src/wiring/daemon.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

interface Row {
  id: string;
}

const options = (dataDir: string, listen = "127.0.0.1:0") => ({
  dataDir,
  listen,
  settings: defaultSettings(),
  log: silentLog,
  onFatal: () => undefined,
});

let daemon: TestDaemon;
let devices: string;

beforeAll(async () => {
  daemon = await startTestDaemon();
  devices = `/extensions/${ONPREM_EXTENSION_ID}/endpoints/${daemon.first.endpointId}/devices`;
});
afterAll(() => daemon.stop());

describe("a running daemon", () => {
  it("prints the authentication URL of phones, and serves the API", async () => {
    expect(daemon.urls["ip-phones/auth"]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\//);
    const { status, body } = await daemon.call("GET", "/session");
    expect(status).toBe(200);
    expect(body).toMatchObject({ isOnprem: true });
    expect((await daemon.call("GET", "/session", undefined, "carillon_wrong")).status).toBe(401);
  });

  it("executes control commands", async () => {
    const made = await sendControlCommand(daemon.dataDir, {
      order: "token.create",
      args: { user: "admin@example.org", name: "x" },
    });
    const { token, id } = (made as { result: { token: string; id: string } }).result;
    expect((await daemon.call("GET", "/users", undefined, token)).status).toBe(200);
    await sendControlCommand(daemon.dataDir, { order: "token.revoke", args: { tokenId: id } });
    expect((await daemon.call("GET", "/users", undefined, token)).status).toBe(401);
  });

  it.each(["link.code", "link.revoke"])("rejects %s, which belongs to the cloud", async (order) => {
    await expect(sendControlCommand(daemon.dataDir, { order, args: {} })).rejects.toThrow(
      "Run this command at the cloud",
    );
  });

  it("locks its data: a second daemon is rejected and disturbs nothing", async () => {
    const second = startDaemon(options(daemon.dataDir));
    await expect(second).rejects.toMatchObject({ context: { dataDir: daemon.dataDir } });
    expect((await daemon.call("GET", "/session")).status).toBe(200);
    expect(await sendControlCommand(daemon.dataDir, { order: "token.list", args: {} })).not.toBeNull();
  });

  it("shows status on its own endpoint only, which can't be deleted", async () => {
    const path = `/extensions/${ONPREM_EXTENSION_ID}/endpoints`;
    const own = await daemon.call("GET", `${path}/${daemon.first.endpointId}`);
    expect(own.body).toMatchObject({ status: "GREEN", redReasons: [], yellowReasons: [] });
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    expect(own.body.buildInfo).toMatchObject({ app: "carillon", version });
    const other = await daemon.call<Row>("POST", path, { name: "Branch" });
    const shown = await daemon.call("GET", `${path}/${other.body.id}`);
    expect(shown.body).toMatchObject({ status: null, buildInfo: null });
    expect((await daemon.call("DELETE", `${path}/${daemon.first.endpointId}`)).status).toBe(409);
    expect((await daemon.call("DELETE", `${path}/${other.body.id}`)).status).toBe(200);
  });

  it("shows health reasons from before its start", async () => {
    const fault = { level: "red", code: "hub-copy:lacking", reason: asGiven("This node's copy lacks rows.") } as const;
    const other = await startTestDaemon({ source: () => [fault] });
    const path = `/extensions/${ONPREM_EXTENSION_ID}/endpoints/${other.first.endpointId}`;
    expect((await other.call("GET", path)).body).toMatchObject({ status: "RED", redReasons: [fault.reason] });
    await other.stop();
  });

  it("rejects an appliance below a plugin's extension", async () => {
    const { body } = await daemon.call<{ data: Row[] }>("GET", "/extensions?name=ip-phones");
    const path = `/extensions/${body.data[0]?.id}/endpoints`;
    const refused = await daemon.call("POST", path, { name: "Phones" });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([400, expect.stringContaining(ONPREM_EXTENSION_ID)]);
    expect((await daemon.call<{ data: Row[] }>("GET", path)).body.data).toEqual([]);
  });
});

describe("bound hooks", () => {
  const refused = (status: number, field: string) => ({
    status,
    body: expect.objectContaining({ message: expect.stringContaining(field) }),
  });

  it("reject devices that no plugin claims", async () => {
    const phone = { type: "phones", deviceIdentifier: "SEP001122334455", description: "Room 1" };
    expect(await daemon.call("POST", devices, phone)).toMatchObject({ status: 200 });
    const stray = { ...phone, deviceIdentifier: "toaster" };
    expect(await daemon.call("POST", devices, stray)).toMatchObject(refused(400, "deviceIdentifier"));
  });

  it("count members of device groups", async () => {
    const filters = [{ attribute: "Name", comparison: "BEGINS_WITH", value: "SEP" }];
    await daemon.call("POST", "/device-groups", { name: "Phones", filterType: "AND", filters });
    const { body } = await daemon.call<{ data: object[] }>("GET", "/device-groups?includeDeviceCounts=true");
    expect(body.data[0]).toMatchObject({ numPhones: 1, numSpeakers: 0 });
  });

  it("restrict types and number of user devices", async () => {
    const user = await daemon.call<Row>("POST", "/users", { name: "Ann", email: "ann@example.org" });
    const path = `/users/${user.body.id}/devices`;
    const add = (type: string) => daemon.call<Row>("POST", path, { type });
    const full = { status: 400, body: { type: "limit-exceeded" } };
    expect(await add("pager")).toMatchObject(refused(400, "type"));
    const pagers = { name: "Pagers", type: "device", deviceType: "pager", deviceLimit: 7 };
    const extension = await daemon.call<Row>("POST", "/extensions", pagers);
    for (let count = 0; count < 7; count++) expect(await add("pager")).toMatchObject({ status: 200 });
    expect(await add("pager")).toMatchObject(full);
    for (let count = 0; count < 5; count++) expect(await add("SMS")).toMatchObject({ status: 200 });
    const refusal = await add("email");
    expect(refusal).toMatchObject({ ...full, body: { message: "Limit of 5 devices reached." } });
    const { body } = await daemon.call<{ data: (Row & { type: string })[] }>("GET", path);
    const sms = body.data.find(({ type }) => type === "SMS") as Row;
    expect(await daemon.call("PUT", `${path}/${sms.id}`, { type: "email", name: "Mail" })).toMatchObject({
      status: 200,
    });
    await daemon.call("PUT", `/extensions/${extension.body.id}`, { deviceLimit: 1 });
    expect(await daemon.call("PUT", `${path}/${sms.id}`, { type: "pager" })).toMatchObject(full);
  });

  it("reject duplicate answers of confirmation requests, and unknown answers in replies and rules", async () => {
    const twice = { name: "Coming?", options: ["Yes", "yes"] };
    expect(await daemon.call("POST", "/confirmation-requests", twice)).toMatchObject(refused(400, "options"));
    const flags = { name: "Coming?", options: ["Yes"], initiateTrackingOptions: [true, false] };
    expect(await daemon.call("POST", "/confirmation-requests", flags)).toMatchObject(
      refused(400, "initiateTrackingOptions"),
    );
    const made = await daemon.call<Row>("POST", "/confirmation-requests", { name: "Coming?", options: ["Yes", "No"] });
    const path = `/confirmation-requests/${made.body.id}`;
    const wrong = { optionLabel: "Maybe", every: "Thanks" };
    expect(await daemon.call("POST", `${path}/dynamic-replies`, wrong)).toMatchObject(refused(400, "optionLabel"));
    await daemon.call("POST", `${path}/dynamic-replies`, { optionLabel: "Yes", every: "Thanks" });
    const rule = { delay: 60, optionLabel: "No", comparison: "GT", comparisonValue: 3, subject: "Help" };
    expect(await daemon.call("POST", `${path}/escalation-rules`, rule)).toMatchObject({ status: 200 });
    expect((await daemon.call("GET", path)).body).toMatchObject({
      dynamicReplies: [{ optionLabel: "Yes", every: "Thanks", quota: null, createdAt: expect.stringMatching(/Z$/) }],
      escalationRules: [{ optionLabel: "No", subject: "Help", audio: 0, audioFiles: [], deviceGroupIds: [] }],
    });
    const bare = (await daemon.call("GET", `${path}?include-dynamic-replies=false&includeEscalationRules=false`)).body;
    expect(Object.keys(bare)).not.toContain("dynamicReplies");
    expect(Object.keys(bare)).not.toContain("escalationRules");
    expect(await daemon.call("PUT", path, { options: ["Yes"] })).toMatchObject(refused(400, "options"));
    expect(await daemon.call("PUT", path, { options: ["Yes", "No", "Later"] })).toMatchObject({ status: 200 });
  });

  it("add the enrolment URL to a list with a campaign", async () => {
    const campaign = { welcomeMessage: "Hello", enrollmentEndDate: "2030-01-01T00:00:00.000Z", url: "http://x" };
    const { body } = await daemon.call<Row>("POST", "/distribution-lists", { name: "Parents", campaign });
    expect(body).toMatchObject({
      syncId: null,
      campaign: { ...campaign, url: `${daemon.url}/join/${body.id}`, subscribeTag: null },
    });
    const plain = await daemon.call<Row>("POST", "/distribution-lists", { name: "Staff" });
    expect(plain.body).toMatchObject({ campaign: null, syncId: null });
  });

  it("reject undocumented commands to endpoints", async () => {
    const path = `/extensions/${ONPREM_EXTENSION_ID}/endpoints/${daemon.first.endpointId}/activities`;
    expect((await daemon.call("POST", path, { type: "backup", state: "success" })).body).toMatchObject({
      state: "pending",
    });
    expect(await daemon.call("POST", path, { type: "log-message" })).toMatchObject(refused(400, "type"));
  });

  it("reject unknown alert tones of templates", async () => {
    const template = { name: "Bell", subject: "Bell", alertTone: "bell" };
    expect((await daemon.call("POST", "/message-templates", template)).body).toMatchObject({
      inferredMessageType: expect.stringContaining("Audio"),
      audioHash: null,
    });
    const unheardOf = { ...template, alertTone: "unheard-of" };
    expect(await daemon.call("POST", "/message-templates", unheardOf)).toMatchObject(refused(400, "alertTone"));
  });
});

describe("starting and stopping", () => {
  it("rejects a folder without an appliance, and an invalid or used address", async () => {
    await expect(startDaemon(options(makeTempDir()))).rejects.toThrow("carillon init");
    const stopped = await startTestDaemon();
    await stopped.stop();
    await expect(startDaemon(options(stopped.dataDir, "nowhere"))).rejects.toThrow("Field listen");
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    await expect(startDaemon(options(stopped.dataDir, `127.0.0.1:${port}`))).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
    other.close();
    // What had been opened before was closed again.
    const again = await startTestDaemon({ after: stopped });
    expect((await again.call("GET", "/session")).status).toBe(200);
    await again.stop();
  });

  it("stops once and releases everything", async () => {
    const first = await startTestDaemon();
    await Promise.all([first.stop(), first.stop()]);
    await expect(fetch(first.url)).rejects.toThrow();
    expect(await sendControlCommand(first.dataDir, { order: "token.list", args: {} })).toBeNull();
    expect(() => readFileSync(join(first.dataDir, "control.sock"))).toThrow("ENOENT");
  });
});
