import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { extensionIdOf } from "../../src/plugin-host/extension-rows.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

type Row = Readonly<Record<string, unknown>>;

let daemon: TestDaemon;
let base: string;
let close: () => void;
const requests: { line: string; body: string }[] = [];
/** What the service answers to a filter. */
let filterAnswer: { status: number; body: string } = { status: 200, body: '{"exclude": []}' };

beforeAll(async () => {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString("utf8");
    requests.push({ line: `${request.method} ${request.url}`, body });
    if (request.url === "/filter") response.writeHead(filterAnswer.status).end(filterAnswer.body);
    else if (request.url === "/report")
      response.end(JSON.stringify({ data: [{ person: "Eve", room: JSON.parse(body).parameters.room }] }));
    else response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  close = () => server.close();
  daemon = await startTestDaemon({
    settings: "network: {allowedTargets: [127.0.0.0/8], multicastInterface: 127.0.0.1}\n",
  });
}, 60_000);
afterAll(async () => {
  await daemon?.stop();
  close();
});

async function create(path: string, body: object): Promise<string> {
  const made = await daemon.call<{ id: string }>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

/** Writes the configuration of a plugin and waits until it runs. */
async function enable(plugin: string, config: object): Promise<void> {
  const at = `/extensions/${extensionIdOf(plugin)}`;
  expect((await daemon.call("PUT", at, { config, disabled: false })).status).toBe(200);
  await expect
    .poll(async () => (await daemon.call<{ status: Row }>("GET", at)).body.status)
    .toMatchObject({ state: "running", health: "ok" });
}

const device = (type: string, deviceIdentifier: string, attributes: object) => {
  const { extensionId, endpointId } = daemon.first;
  const body = { type, deviceIdentifier, description: deviceIdentifier, attributes };
  return create(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, body);
};

/** Sends to the group; resolves with the level and the reason by device once the message has ended. */
async function send(deviceGroupIds: readonly string[], more: object = {}) {
  const id = await create("/notifications", { subject: "Staff meeting", body: "Room 4", deviceGroupIds, ...more });
  const read = async () => (await daemon.call<{ data: Row[] }>("GET", `/notifications/${id}/devices`)).body.data;
  const isOpen = ({ level }: Row): boolean => level === "planned" || level === "sent";
  let rows: Row[] = [];
  const hasEnded = async (): Promise<boolean> => {
    rows = await read();
    return rows.length > 0 && !rows.some(isOpen);
  };
  await expect.poll(hasEnded).toBe(true);
  return Object.fromEntries(rows.map(({ name, level, reason }) => [name, [level, reason]]));
}

describe("devices of type idns and plugins", () => {
  it("get messages by HTTP from built-in plugins, and filters leave some out", async () => {
    await enable("http-speakers", {});
    await enable("chat", { webhooks: `Office=${base}/office` });
    const notifier = await device("idns", "idn:desk", { Url: base, MACAddress: "02:00:00:00:00:07" });
    await device("plugins", "plugin:ticker", { Url: base });
    await device("plugins", "chat:Office", { format: "text" });
    const group = await create("/device-groups", { name: "All", filterType: "ACCEPT" });
    const reached = await send([group]);
    expect(reached).toMatchObject({
      "idn:desk": ["accepted", null],
      "plugin:ticker": ["accepted", null],
      "chat:Office": ["accepted", null],
    });
    const posts = requests.filter(({ line }) => line === "POST /notifications");
    expect(posts).toHaveLength(2);
    expect(JSON.parse(posts[0]?.body ?? "")).toEqual({
      ...{ id: expect.any(String), subject: "Staff meeting", body: "Room 4" },
      ...{ priority: 5, drill: false, durationSeconds: expect.any(Number) },
    });
    expect(JSON.parse(requests.find(({ line }) => line === "POST /office")?.body ?? "")).toMatchObject({
      text: expect.stringContaining("Staff meeting"),
    });

    await enable("http-filter", { url: `${base}/filter`, timeoutMs: 2_000 });
    filterAnswer = { status: 200, body: JSON.stringify({ exclude: [notifier], reason: "off duty" }) };
    expect(await send([group])).toMatchObject({
      "idn:desk": ["skipped", "Left out by http-filter: off duty"],
      "plugin:ticker": ["accepted", null],
    });
    filterAnswer = { status: 500, body: "" };
    expect(await send([group])).toMatchObject({ "idn:desk": ["accepted", null] });
    filterAnswer = { status: 200, body: JSON.stringify({ exclude: [notifier] }) };
    expect(await send([group], { priority: "critical" })).toMatchObject({ "idn:desk": ["accepted", null] });
  });
});

describe("extensions of type report", () => {
  it("provide reports in the list, with parameters", async () => {
    const badges = { key: "badges", name: "Badges", url: `${base}/report`, columns: ["person", "room"] };
    await enable("http-report", {
      reports: [{ ...badges, parameters: [{ name: "room", description: "Only this room.", required: true }] }],
    });
    const { body } = await daemon.call<{ data: Row[] }>("GET", "/reports");
    const listed = body.data.find(({ name }) => name === "Badges");
    expect(listed).toMatchObject({
      parameters: [{ name: "parameters[room]", description: "Only this room.", required: true }],
    });
    const read = await daemon.call<{ data: Row[] }>("GET", `/reports/${listed?.id}?parameters[room]=12`);
    expect(read.body.data).toEqual([{ person: "Eve", room: "12" }]);
    const extension = `/extensions/${extensionIdOf("http-report")}`;
    expect((await daemon.call("GET", extension)).body).toMatchObject({ type: "report", requiresOptIn: false });
    await daemon.call("PUT", extension, { disabled: true });
    await expect
      .poll(async () => (await daemon.call<{ data: Row[] }>("GET", "/reports")).body.data.map(({ name }) => name))
      .not.toContain("Badges");
    expect((await daemon.call("GET", `/reports/${listed?.id}?parameters[room]=12`)).status).toBe(404);
  });
});
