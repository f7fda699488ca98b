import { afterAll, beforeAll, expect, it } from "vitest";
import { extensionIdOf } from "../../src/plugin-host/extension-rows.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { eventually } from "../support/timeouts.ts";

const SECRET = "0123456789abcdef";
const SOURCES = {
  sources: [{ name: "Door 1" }, { name: "Trunk", calls: true }],
  secrets: `Door 1=${SECRET}\nTrunk=${SECRET}`,
};

interface Listed {
  id: string;
  outcome: string;
  notificationId: string | null;
  notificationSource: string;
  details: unknown;
  name: string;
}

let daemon: TestDaemon;
let messageTemplateId: string;
beforeAll(async () => {
  daemon = await startTestDaemon();
  const { body: list } = await daemon.call<Listed>("POST", "/distribution-lists", { name: "Staff" });
  const template = { name: "T", subject: "{{source}}: {{state}}", distributionListIds: [list.id] };
  messageTemplateId = (await daemon.call<Listed>("POST", "/message-templates", template)).body.id;
  const extension = { disabled: false, config: SOURCES };
  expect((await daemon.call("PUT", `/extensions/${extensionIdOf("http-input")}`, extension)).status).toBe(200);
  await eventually(async () => (await tell("Door 1", "ready")) === 202);
});
afterAll(() => daemon.stop());

/** The status that a source's request is answered with. */
async function tell(source: string, said: unknown, secret = SECRET): Promise<number> {
  const response = await fetch(`${daemon.url}/x/http-input/${encodeURIComponent(source)}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(said),
  });
  await response.text();
  return response.status;
}

async function listed(path: string, base = "/api/v1"): Promise<Listed[]> {
  const headers = { authorization: `Bearer ${daemon.first.token}` };
  const response = await fetch(`${daemon.url}${base}${path}`, { headers });
  return ((await response.json()) as { data: Listed[] }).data;
}

/** The newest input once it was handled. */
async function handled(): Promise<Listed> {
  await expect.poll(() => listed("/inputs?outcome=waiting")).toEqual([]);
  return (await listed("/inputs?sort=-createdAt&limit=1"))[0] as Listed;
}

it("sends the notification of the matching rule, through the plugin and the pipeline", async () => {
  await daemon.call("POST", "/m2m-inputs", { name: "Door", source: "Door 1", state: "closed", messageTemplateId });
  expect(await tell("Door 1", { state: "closed" }, "wrong")).toBe(401);
  expect(await tell("Door 1", { state: "open" })).toBe(202);
  expect(await handled()).toMatchObject({ outcome: "nothing", details: { state: "open" } });
  expect(await tell("Door 1", { state: "closed" })).toBe(202);
  const { outcome, notificationId } = await handled();
  expect(outcome).toBe("started");
  const { body } = await daemon.call("GET", `/notifications/${notificationId}`);
  expect(body).toMatchObject({
    subject: "Door 1: closed",
    notificationSource: "m2m",
    initiationSourceType: "m2m-inputs",
  });
  const [rule] = await listed("/plugins/m2m", "/api/onprem/v1");
  expect(rule).toMatchObject({ name: "Door", lastStartedAt: expect.stringMatching(/Z$/) });
  const refused = await daemon.call("DELETE", `/message-templates/${messageTemplateId}`);
  expect(refused.status).toBe(409);
  const users = await listed(`/message-templates/${messageTemplateId}/m2m-input-dependents`);
  expect(users).toMatchObject([{ resourceName: "Door" }]);
});

it("lists a matching call while it is active, under both prefixes", async () => {
  await daemon.call("POST", "/call-aware-call-redirects", { name: "Help", numberPattern: "9?911", messageTemplateId });
  const call = { callId: "1", calledNumber: "911", callingNumber: "2214", via: "redirect" };
  await tell("Trunk", { call: { ...call, state: "ringing" } });
  expect(await handled()).toMatchObject({ outcome: "started", call: { ...call, state: "ringing" } });
  const calls = await listed("/active-callaware-calls");
  expect(calls).toMatchObject([{ type: "endpoint-rule", details: { calledNumber: "911", callingNumber: "2214" } }]);
  expect(await listed("/plugins/call-aware", "/api/onprem/v1")).toEqual(calls);
  expect(await listed("/plugins/call-aware/call-redirects", "/api/onprem/v1")).toMatchObject([{ name: "Help" }]);
  expect(await listed("/notifications?notificationSource=ca-redirect")).toHaveLength(1);
  await tell("Trunk", { call: { ...call, state: "ended" } });
  await handled();
  expect(await listed("/active-callaware-calls")).toEqual([]);
});

it("stops a night bell when its call is answered", async () => {
  const bell = { name: "Gate", number: "7000", messageTemplateId, timeout: 300 };
  await daemon.call("POST", "/night-bells", bell);
  await tell("Trunk", { call: { callId: "2", state: "ringing", calledNumber: "7000" } });
  const { notificationId } = await handled();
  const shown = () => daemon.call("GET", `/notifications/${notificationId}`);
  expect((await shown()).body).toMatchObject({ notificationSource: "night-bell", expiration: 300, abortedAt: null });
  await tell("Trunk", { call: { callId: "2", state: "answered", calledNumber: "7000" } });
  await handled();
  expect((await shown()).body.abortedAt).toMatch(/Z$/);
});

it.each([
  ["call-aware-call-redirects", "name\tnumberPattern\tmessageTemplateId\nA\t9?112\tT\n", "/call-aware-call-redirects"],
  [
    "call-aware-routing-requests",
    "name\tnumberPattern\tmessageTemplateId\nA\t112\tT\n",
    "/call-aware-routing-requests",
  ],
  [
    "dialing-configurations",
    "name\ttype\tdialingPatternRegex\tmessageTemplateId\tdistributionListIds\nA\tNOTIFICATION\t\\*1\tT\tStaff\n",
    "/dialcast-dialing-configurations",
  ],
])("%s are uploaded as a table", async (resourceType, table, path) => {
  const { body } = await daemon.call<{ id: string; url: string }>("POST", "/bulk-uploads", { resourceType });
  const headers = { authorization: `Bearer ${daemon.first.token}`, "content-type": "text/tab-separated-values" };
  expect((await fetch(body.url, { method: "PUT", headers, body: table })).status).toBe(200);
  let status = "";
  await eventually(async () => {
    status = (await daemon.call<{ status: string }>("GET", `/bulk-uploads/${body.id}`)).body.status;
    return status === "COMPLETE" || status === "ERROR";
  });
  expect([status, await listed(`/bulk-uploads/${body.id}/logs`)]).toMatchObject(["COMPLETE", [{ resourceName: "A" }]]);
  expect(await listed(`${path}?name=A`)).toMatchObject([{ messageTemplateId }]);
});
