import { afterAll, beforeAll, describe, expect, it } from "vitest";
import userTokens from "../../src/resources/people/user-tokens.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir(), { allowedTargets: ["127.0.0.0/8"] });
});
afterAll(() => api.close());

interface Event {
  id?: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of every shape
  data: any;
}

/** A client of the stream that reads it as a browser would. */
interface Client {
  status: number;
  type: string | null;
  events: Event[];
  /** Resolves with the first event for which the test holds. */
  until(test: (event: Event) => boolean): Promise<Event>;
  ended: Promise<void>;
  close(): void;
}

async function listen(query = "", headers: Record<string, string> = {}, token = api.token): Promise<Client> {
  const stop = new AbortController();
  const answer = await fetch(`${api.base}/events${query}`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: stop.signal,
  });
  const events: Event[] = [];
  const waiting = new Set<() => void>();
  const read = async (): Promise<void> => {
    let text = "";
    for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const members = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
        if (members.event) events.push({ ...members, data: JSON.parse(members.data) } as Event);
      }
      for (const look of waiting) look();
    }
  };
  const until: Client["until"] = (test) =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = events.find(test);
        if (found) resolve(found);
      };
      waiting.add(look);
      look();
    });
  const ended = read().catch(() => undefined);
  return {
    status: answer.status,
    type: answer.headers.get("content-type"),
    events,
    until,
    ended,
    close: () => stop.abort(),
  };
}

const made = async (name: string): Promise<string> =>
  (await api.call("POST", "/distribution-lists", { json: { name } })).body.id;

describe("the event stream", () => {
  it("sends changes, and resumes after the last event", async () => {
    const client = await listen();
    expect([client.status, client.type]).toEqual([200, "text/event-stream; charset=utf-8"]);
    const ready = await client.until(({ event }) => event === "ready");
    expect(Number(ready.id)).toBeGreaterThan(0);
    const id = await made("One");
    const told = await client.until(({ data }) => data.id === id);
    const data = { type: "distribution-lists.created", resource: "distribution-lists", id, op: "create" };
    expect(told).toMatchObject({ event: "change", data });
    client.close();
    await client.ended;
    const missed = await made("Two");
    const again = await listen("", { "last-event-id": String(told.id) });
    await again.until((event) => event.data.id === missed);
    expect(again.events.map((event) => event.data.id)).not.toContain(id);
    again.close();
  });

  it("sends only visible changes of the requested resources", async () => {
    const seen = await made("Seen");
    const unseen = await made("Unseen");
    const reader = await api.user("Reader", `get /distribution-lists/${seen}`, "get /users/*");
    const client = await listen("?resources[]=distribution-lists", {}, reader.token);
    await client.until(({ event }) => event === "ready");
    await api.call("PUT", `/distribution-lists/${unseen}`, { json: { name: "Unseen 2" } });
    await api.call("PUT", `/users/${reader.id}`, { json: { name: "Reader 2" } });
    await api.call("PUT", `/distribution-lists/${seen}`, { json: { name: "Seen 2" } });
    await client.until(({ data }) => data.id === seen);
    expect(client.events.filter(({ event }) => event === "change").map(({ data }) => data.id)).toEqual([seen]);
    client.close();
  });

  it("says reset to who names an event that is none of this feed", async () => {
    const client = await listen("?lastEventId=999999999");
    const reset = await client.until(({ event }) => event === "reset");
    expect(Number(reset.id)).toBeLessThan(999_999_999);
    client.close();
  });

  it("refuses strangers and ids that are none", async () => {
    expect((await listen("", {}, "carillon_wrong")).status).toBe(401);
    expect((await listen("?lastEventId=x")).status).toBe(400);
  });

  it("ends with a reason when the token is revoked", async () => {
    const reader = await api.user("Leaver", "get /users/*");
    const client = await listen("", {}, reader.token);
    await client.until(({ event }) => event === "ready");
    const [token] = api.store.find(userTokens, { userId: reader.id });
    await api.store.remove(userTokens, token?.id ?? "", api.system);
    const end = await client.until(({ event }) => event === "end");
    expect(end.data).toEqual({ reason: "The session has ended." });
    await client.ended;
  });

  it("lets a user have fifty at once", async () => {
    const reader = await api.user("Many", "get /users/*");
    const clients = await Promise.all(Array.from({ length: 50 }, () => listen("", {}, reader.token)));
    await Promise.all(clients.map((client) => client.until(({ event }) => event === "ready")));
    expect((await listen("", {}, reader.token)).status).toBe(429);
    for (const client of clients) client.close();
    await Promise.all(clients.map((client) => client.ended));
  });

  it("answers a request for the head alone", async () => {
    const answer = await fetch(`${api.base}/events`, {
      method: "HEAD",
      headers: { authorization: `Bearer ${api.token}` },
    });
    expect(answer.status).toBe(200);
  });
});

describe("triggers over the API", () => {
  it("return their secret once, list their deliveries and reject ids of others", async () => {
    const input = { name: "T", spec: "/users/*", type: "webhook", url: "http://127.0.0.1:9/hook" };
    const trigger = await api.call("POST", "/triggers", { json: input });
    expect(trigger.body).toMatchObject({ name: "T", disabled: false, ownerId: api.adminId });
    expect(trigger.body.secret).toMatch(/^whsec_/);
    const path = `/triggers/${trigger.body.id}`;
    expect((await api.call("GET", path)).text).not.toContain("whsec_");
    const rotated = await api.call("POST", `${path}/rotate-secret`, { json: {} });
    expect(rotated.body.secret).toMatch(/^whsec_/);
    expect(rotated.body.secret).not.toBe(trigger.body.secret);
    api.outbound.webhooks.start();
    await api.user("Somebody");
    let deliveries = (await api.call("GET", `${path}/deliveries`)).body.data;
    while (deliveries[0]?.attempts !== 1) deliveries = (await api.call("GET", `${path}/deliveries`)).body.data;
    expect(deliveries[0]).toMatchObject({ event: "users.created", state: "pending", lastStatus: null });
    expect(deliveries[0].reason).toContain("ECONNREFUSED");
    const replay = await api.call("POST", `${path}/deliveries/${deliveries[0].id}/replay`);
    expect(replay.body).toMatchObject({ id: deliveries[0].id, state: "pending" });
    const stranger = await api.user("Stranger");
    expect((await api.call("POST", `${path}/rotate-secret`, { token: stranger.token })).status).toBe(403);
    expect((await api.call("POST", `${path}/deliveries/${api.adminId}/replay`)).status).toBe(404);
    expect(api.logText()).not.toContain(rotated.body.secret);
  });
});
