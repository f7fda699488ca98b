import { once } from "node:events";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { ALARM_IDS } from "../../src/resources/alarms/alarm-types.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import { pollUntil } from "../support/cuttable-proxy.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../unit/webhooks/webhook-receiver.ts";

type Row = Readonly<Record<string, unknown>>;

let hub: TestDaemon;
let site: TestDaemon;
const at = (daemon: TestDaemon): string => `/extensions/${ONPREM_EXTENSION_ID}/endpoints/${daemon.first.endpointId}`;

async function make(daemon: TestDaemon, path: string, body: object): Promise<string> {
  const made = await daemon.call<{ id: string }>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

const connected = () =>
  pollUntil(
    async () => site.cloudLink.report().link?.state,
    (state) => state === "connected",
  );

const isMigrated = async (daemon: TestDaemon): Promise<unknown> =>
  (await daemon.call("GET", at(site))).body.isCucmMigrated;

beforeAll(async () => {
  hub = await startTestDaemon({ isHub: true });
  site = await startTestDaemon();
}, 120_000);
afterAll(async () => {
  await site?.stop();
  await hub?.stop();
});

describe("call manager clusters of an appliance", () => {
  it("count as those of the cloud once it is linked, there and in the cloud", async () => {
    const needed = { axlAddress: "publisher.example.org", axlUser: "axl", snmpVersion: "2", snmpCommunity: "public" };
    const cluster = await make(site, "/callmgr-clusters", { name: "Own", ...needed });
    expect(await isMigrated(site)).toBe(false);
    const server = { endpointId: site.first.endpointId, cmAddress: "publisher.example.org", cmUsername: "cti" };
    await make(site, `/callmgr-clusters/${cluster}/onprem-servers`, server);
    expect(await isMigrated(site)).toBe(false);
    const { body } = await hub.call<{ code: string }>("POST", "/link/codes", {});
    await site.cloudLink.site?.enrol({ hub: hub.url, code: body.code, mode: "adopt", authority: null });
    await site.stop();
    site = await startTestDaemon({ after: site });
    await connected();
    for (const daemon of [site, hub]) {
      const found = await pollUntil(
        () => isMigrated(daemon),
        (each) => each === true,
      );
      expect(found).toBe(true);
    }
    const own = await hub.call("GET", at(hub));
    expect(own.body.isCucmMigrated).toBe(false);
  });
});

describe("an appliance that lost a row of the cloud", () => {
  let receiver: WebhookReceiver;
  const stop = new AbortController();
  beforeAll(async () => {
    receiver = await startWebhookReceiver();
  });
  afterAll(async () => {
    stop.abort();
    await receiver?.close();
  });

  /** Everything that the event stream sends from now on. */
  async function follow(daemon: TestDaemon): Promise<string[]> {
    const headers = { authorization: `Bearer ${daemon.first.token}` };
    const answer = await fetch(`${daemon.url}/api/v1/events`, { headers, signal: stop.signal });
    const parts: string[] = [];
    const read = async (): Promise<void> => {
      for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) parts.push(part);
    };
    void read().catch(() => undefined);
    return parts;
  }

  /** Changes in the live feed of the console. */
  async function followConsole(daemon: TestDaemon): Promise<Row[]> {
    const answer = await fetch(`${daemon.url}/api/login`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: daemon.url, "x-carillon-console": "1" },
      body: JSON.stringify(TEST_ADMIN),
    });
    const cookie = answer.headers
      .getSetCookie()
      .map((each) => each.split(";", 1)[0])
      .join("; ");
    const socket = new WebSocket(`${daemon.url.replace("http", "ws")}/api/live`, {
      headers: { cookie, origin: daemon.url },
    });
    const changes: Row[] = [];
    socket.on("message", (data) => changes.push(...(JSON.parse(String(data)).changes ?? [])));
    await once(socket, "open");
    stop.signal.addEventListener("abort", () => socket.terminate());
    return changes;
  }

  it("fetches it again, raises the alarm and sends its message, and every follower of the appliance hears of it", async () => {
    const group = await make(hub, "/device-groups", { name: "Gym" });
    const name = async (): Promise<unknown> => (await site.call("GET", `/device-groups/${group}`)).body.name;
    await pollUntil(name, (found) => found === "Gym");
    const messageTemplateId = await make(site, "/message-templates", {
      ...{ name: "Alarm", subject: "{{alarmName}}", deviceGroupIds: [group] },
    });
    await pollUntil(
      async () => (await hub.call("GET", `/message-templates/${messageTemplateId}`)).status,
      (status) => status === 200,
    );
    const alarm = `/alarms/${ALARM_IDS.onprem_delta_sync_error_event}`;
    expect((await site.call("GET", alarm)).body).toMatchObject({ status: "OK", reasons: [] });
    await make(site, `${alarm}/actions`, { messageTemplateId, triggerOnStatus: "ACTIVE", deviceGroupIds: [group] });
    const hook = { name: "Monitoring", type: "webhook", spec: `${alarm}/events/*`, url: receiver.url };
    await make(site, "/triggers", hook);
    await site.stop();
    const db = new Database(join(site.dataDir, "carillon.db"));
    db.pragma("foreign_keys = OFF");
    const gone = db.prepare("DELETE FROM sync_applied_versions WHERE id IN (?, ?)").run(group, messageTemplateId);
    expect(gone.changes).toBe(2);
    db.close();
    site = await startTestDaemon({ after: site });
    const streamed = await follow(site);
    const live = await followConsole(site);
    await connected();
    // The hourly comparison, at once.
    hub.cloudLink.hub?.hub.compareDigests();
    const found = await pollUntil(
      async () => (await site.call("GET", alarm)).body,
      ({ status }) => status === "ACTIVE",
    );
    expect(found.reasons).toEqual([expect.objectContaining({ endpointId: site.first.endpointId })]);
    expect(JSON.stringify(found.reasons)).toContain("Rows differed from the cloud and were fetched again.");
    const sent = await pollUntil(
      async () =>
        (await site.call<{ data: Row[] }>("GET", "/notifications?notificationSource=onprem-delta-sync-error-event"))
          .body,
      ({ data }) => data?.length === 1,
    );
    expect(sent.data[0]).toMatchObject({ notificationSource: "onprem-delta-sync-error-event", messageTemplateId });
    const events = (await site.call<{ data: Row[] }>("GET", `${alarm}/events`)).body.data;
    expect(events[0]).toMatchObject({ status: "ACTIVE", endpointId: site.first.endpointId });
    expect(await name()).toBe("Gym");

    // The webhook and both feeds name the event, and with it the alarm and the appliance.
    const { json } = await receiver.call(1);
    expect(JSON.stringify(json)).toContain(String(events[0]?.id));
    expect(JSON.stringify(json)).toContain(site.first.endpointId);
    await expect.poll(() => streamed.join("")).toContain(String(events[0]?.id));
    const told = { resource: "alarm-events", id: events[0]?.id, op: "create" };
    await expect.poll(() => live).toContainEqual(expect.objectContaining(told));

    // The activities of the appliance say which rows differed, and name the row that was fetched again; the cloud has them, too.
    for (const daemon of [site, hub]) {
      const activities = async (): Promise<Row[]> =>
        (await daemon.call<{ data: Row[] }>("GET", `${at(site)}/activities?limit=100`)).body.data;
      const about = (resource: string) =>
        expect.objectContaining({ state: "fail", severity: "error", value: expect.objectContaining({ resource }) });
      await expect.poll(activities, { timeout: 60_000 }).toContainEqual(about("device-groups"));
      await expect.poll(activities, { timeout: 60_000 }).toContainEqual(about("message-templates"));
      const fetched = { referenceType: "message-template", referenceId: messageTemplateId, state: "success" };
      await expect.poll(activities, { timeout: 60_000 }).toContainEqual(expect.objectContaining(fetched));
    }
  });
});
