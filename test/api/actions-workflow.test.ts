import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createWav } from "./sample-files.ts";

/** How the same members are sent. */
type Kind = "json" | "form" | "multipart";
type Members = Record<string, string | readonly string[]>;

let daemon: TestDaemon;
let run = 0;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.stop());

async function post(kind: Kind, path: string, members: Members, token = daemon.first.token) {
  const pairs = Object.entries(members).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : value.map((each) => [`${name}[]`, each] as const),
  );
  const parts = new FormData();
  for (const [name, value] of pairs) parts.append(name, value);
  const body =
    kind === "json"
      ? JSON.stringify(members)
      : kind === "form"
        ? new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value]))
        : parts;
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (kind === "json") headers["content-type"] = "application/json";
  const response = await fetch(`${daemon.url}/api/v1${path}`, { method: "POST", headers, body });
  const answer = (await response.json()) as Record<string, unknown> & { id: string };
  expect([response.status, answer.message]).toEqual([200, undefined]);
  return answer;
}

/** The basic workflow, step by step; `mark` keeps what must be unique apart. @source service-api.md, What the service does 5 */
async function workflow(kind: Kind) {
  const mark = `m${run++}`;
  const user = await post(kind, "/users", { name: "Ann", email: `${mark}@example.org` });
  const list = await post(kind, "/distribution-lists", { name: "Staff" });
  await post(kind, `/users/${user.id}/subscriptions`, { distributionListId: list.id });
  await post(kind, `/users/${user.id}/devices`, { type: "Android", name: "Phone", deviceIdentifier: mark });
  const request = await post(kind, "/confirmation-requests", { name: "Safe?", options: ["Yes", "No"] });
  const template = await post(kind, "/message-templates", {
    name: "Fire",
    subject: "Fire",
    body: "Leave the building.",
    confirmationRequestId: request.id,
    distributionListIds: [list.id],
  });
  const sent = await post(kind, "/notifications", { messageTemplateId: template.id });
  const { token } = await post(kind, `/users/${user.id}/tokens`, { name: "app" });
  const at = `/users/${user.id}/notifications/${sent.id}`;
  const answered = await post(
    kind,
    `${at}/activities`,
    { type: "confirmation", confirmationOption: "Yes" },
    String(token),
  );
  const own = (await daemon.call("GET", at, undefined, String(token))).body;
  await post(kind, `/notifications/${sent.id}/activities`, { type: "abort" });
  const after = (await daemon.call("GET", `/notifications/${sent.id}`)).body;
  const recipients = (await daemon.call("GET", `/notifications/${sent.id}/recipients`)).body;
  return { user, list, request, template, sent, answered, own, after, recipients };
}

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
/** The result without what differs between any two runs: ids, times, marks, and how far the sending has got. */
const plain = (value: unknown) => {
  const text = JSON.stringify(value, (name, member) => (name === "progress" ? undefined : member));
  return JSON.parse(text.replace(ID, "<id>").replace(TIME, "<time>").replace(/m\d+@/g, "<mark>@"));
};

describe("the basic workflow", () => {
  it("gives the same result from JSON, form and multipart bodies", async () => {
    const fromJson = await workflow("json");
    expect(fromJson.sent).toMatchObject({ subject: "Fire", body: "Leave the building.", draft: false });
    expect(fromJson.sent).toMatchObject({ recipientCount: 1, confirmableCount: 1 });
    expect(fromJson.answered).toMatchObject({
      type: "confirmation",
      userId: fromJson.user.id,
      confirmationOption: "Yes",
    });
    expect(fromJson.own).toMatchObject({
      confirmationResponse: "Yes",
      confirmationResponseTimestamp: expect.stringMatching(TIME),
    });
    expect(fromJson.after).toMatchObject({
      recipientCount: 1,
      confirmableCount: 1,
      confirmationResults: { Yes: 1, No: 0 },
      confirmationResponseCounts: { Yes: 1, No: 0 },
    });
    expect(fromJson.after.abortedAt).toMatch(TIME);
    expect(fromJson.recipients.data).toMatchObject([{ name: "Ann", confirmationResponse: "Yes" }]);
    expect(plain(await workflow("form"))).toEqual(plain(fromJson));
    expect(plain(await workflow("multipart"))).toEqual(plain(fromJson));
  });
});

describe("a follow-up named by a search", () => {
  const userIds = () => [daemon.first.userId];
  const follow = (members: object) =>
    daemon.call("POST", "/notifications", { subject: "F", userIds: userIds(), ...members });

  it("follows the newest notification found", async () => {
    for (const subject of ["Smoke in B", "Smoke in C", "Water in B"])
      await post("json", "/notifications", { subject, userIds: userIds() });
    const { data } = (await daemon.call("GET", "/notifications?q=subject:smoke&sort=-createdAt")).body as {
      data: [{ id: string }, { id: string }];
    };
    for (const query of ["subject:smoke", "smoke", '{"and":["subject:smoke","notificationSource:api"]}', "smoke c"]) {
      const { status, body } = await follow({ followUpForNotificationQuery: query });
      expect([query, status, body.followUpForNotificationId]).toEqual([query, 200, data[0].id]);
      expect(body).toMatchObject({ parentNotificationId: data[0].id, followUpForNotificationQuery: query });
    }
    const first = await follow({ followUpForNotificationQuery: "subject:smoke b" });
    expect(first.body.followUpForNotificationId).toBe(data[1].id);
  });

  it.each([
    ["finds nothing", "subject:earthquake"],
    ["is not JSON", "{and"],
    ["has too many words", "word ".repeat(30)],
    ["filters by a value that cannot be", "expiresAt:yesterday"],
  ])("is refused when the search %s", async (_name, followUpForNotificationQuery) => {
    const { status, body } = await follow({ followUpForNotificationQuery });
    expect([status, (body.errors as { field: string }[])[0]?.field]).toEqual([400, "followUpForNotificationQuery"]);
  });

  it("ignores previews, and is not combined with an id", async () => {
    await follow({ subject: "Gas in D", draft: true });
    expect((await follow({ followUpForNotificationQuery: "gas" })).status).toBe(400);
    const { id } = await post("json", "/notifications", { subject: "Gas in E", userIds: userIds() });
    const both = await follow({ followUpForNotificationQuery: "gas", followUpForNotificationId: id });
    expect([both.status, (both.body.errors as { field: string }[])[0]?.field]).toEqual([
      400,
      "followUpForNotificationQuery",
    ]);
  });
});

describe("the rendered audio of a notification", () => {
  it("is longer than its recording by the opening tone", async () => {
    const form = new FormData();
    form.append("subject", "S");
    form.append("alertTone", "bell");
    form.append("userIds[]", daemon.first.userId);
    form.append("audio", new File([createWav(0.5)], "call.wav"));
    const sent = await daemon.call("POST", "/notifications", form);
    expect(sent.status).toBe(200);
    const bytes = async (query: string) => {
      const headers = { authorization: `Bearer ${daemon.first.token}` };
      const response = await fetch(`${daemon.url}/api/v1/notifications/${sent.body.id}/audio${query}`, { headers });
      expect(response.headers.get("content-type")).toBe("audio/wav");
      return new Uint8Array(await response.arrayBuffer());
    };
    expect(await bytes("")).toEqual(createWav(0.5));
    const programme = await bytes("?form=programme");
    expect(Buffer.from(programme).toString("latin1", 0, 4)).toBe("RIFF");
    expect(Buffer.from(programme).readUInt32LE(24)).toBe(8_000);
    expect(programme.length).toBeGreaterThan(createWav(0.5).length + 8_000);
  });

  it("is rendered once per idempotency key, and refused for another notification with that key", async () => {
    const send = (subject: string) =>
      fetch(`${daemon.url}/api/v1/notifications`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${daemon.first.token}`,
          "content-type": "application/json",
          "idempotency-key": "k-1",
        },
        body: JSON.stringify({ subject, userIds: [daemon.first.userId] }),
      }).then(async (response) => ({
        status: response.status,
        body: (await response.json()) as { id: string; type: string },
      }));
    const first = await send("One");
    const again = await send("One");
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.body.id).toBe(first.body.id);
    expect((await send("Two")).body).toMatchObject({ status: 409, type: "conflict" });
    expect((await daemon.call("GET", "/notifications?subject=One")).body.total).toBe(1);
  });
});
