import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createLoginService } from "../../../src/auth/login.ts";
import { revokeSession } from "../../../src/auth/sessions.ts";
import { createToken } from "../../../src/auth/tokens.ts";
import { createLiveFeed, type LiveFeed } from "../../../src/console/live-feed.ts";
import { createWebSocketUpgrade } from "../../../src/http/websocket-upgrade.ts";
import { silentLog } from "../../../src/lib/log.ts";
import distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import users from "../../../src/resources/people/users.ts";
import { defaultSettings } from "../../../src/settings/schema.ts";
import { type ChangeFeed, createChangeFeed } from "../../../src/webhooks/change-feed/change-feed.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

interface Message {
  seq: number;
  changes?: { resource: string; id: string; op: string }[];
  resync?: boolean;
}

/** A console's end of a connection. */
interface Console {
  socket: WebSocket;
  messages: Message[];
  /** Resolves with the first message for which the test holds, also one that came before. */
  until(test: (message: Message) => boolean): Promise<Message>;
  closed: Promise<number>;
}

let fixture: AccessFixture;
let changes: ChangeFeed;
let feed: LiveFeed;
let server: Server;
let url: string;
let adminToken: string;
let cookie: string;

beforeEach(async () => {
  fixture = await openAccess(makeTempDir());
  const { store, access, clock, events, catalogue } = fixture;
  changes = createChangeFeed({
    reader: store,
    access,
    clock,
    events,
    catalogue,
    log: silentLog,
    rowsOfPlugin: () => [],
  });
  feed = createLiveFeed(changes, clock);
  server = createServer();
  server.on(
    "upgrade",
    createWebSocketUpgrade({
      access,
      settings: defaultSettings(),
      openLiveFeed: feed.accept,
      openLivePage: () => undefined,
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  adminToken = (await createToken(store, fixture.adminId, { name: "test" }, fixture.system)).token;
  cookie = `carillon=${await createLoginService(fixture).loginVerifiedUser(fixture.adminId, null)}`;
  fixture.clock.advanceSync(100);
});
afterEach(async () => {
  feed.stop();
  changes.stop();
  await new Promise((resolve) => server.close(resolve));
  await fixture.close();
});

function dial(headers: Record<string, string>, query = "", path = "/api/live"): WebSocket {
  return new WebSocket(`ws://${url}${path}${query}`, { headers });
}

/** The status and body of a refusal. */
function refusal(socket: WebSocket): Promise<{ status: number | undefined; body: { type: string } }> {
  return new Promise((resolve, reject) => {
    socket.on("open", () => reject(new Error("let in")));
    socket.on("unexpected-response", (_request, response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => resolve({ status: response.statusCode, body: JSON.parse(text) }));
    });
    socket.on("error", () => undefined);
  });
}

async function follow(headers: Record<string, string>, query = ""): Promise<Console> {
  const socket = dial(headers, query);
  const messages: Message[] = [];
  const waiting = new Set<() => void>();
  socket.on("error", () => undefined);
  socket.on("message", (data) => {
    messages.push(JSON.parse(String(data)) as Message);
    for (const look of waiting) look();
  });
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  const until = (test: (message: Message) => boolean): Promise<Message> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = messages.find(test);
        if (found) resolve(found);
      };
      waiting.add(look);
      look();
      void closed.then((code) => reject(new Error(`closed with ${code}`)));
    });
  await until(() => true);
  return { socket, messages, until, closed };
}

const bearer = (token = adminToken) => ({ authorization: `Bearer ${token}` });
const page = () => ({ cookie, origin: `http://${url}` });
const told = ({ changes = [] }: Message) => changes.map(({ resource, id, op }) => `${op} ${resource} ${id}`);

describe("the live feed accepts", () => {
  it("a token, and a session on the console's origin", async () => {
    for (const headers of [bearer(), page()]) {
      const { messages } = await follow(headers);
      expect(messages).toEqual([{ seq: expect.any(Number), now: expect.any(Number) }]);
    }
  });

  it.each([
    ["nobody unknown", () => ({}), "", 401],
    ["no unknown token", () => bearer("carillon_x"), "", 401],
    ["no session as a token", () => bearer(cookie.slice(9)), "", 401],
    ["no session from another site's page", () => ({ cookie, origin: "http://evil.example.org" }), "", 403],
    ["no session without an origin", () => ({ cookie }), "", 403],
    ["no other name", () => ({ ...bearer(), host: "evil.example.org" }), "", 421],
    ["no since that is none", bearer, "?since=x", 400],
    ["nobody into a domain where it may not act", bearer, "?domain=00000000-0000-4000-8000-000000000000", 400],
  ])("%s", async (_what, headers, query, status) => {
    expect((await refusal(dial(headers(), query))).status).toBe(status);
  });

  it("a user into a domain of that user", async () => {
    const { messages } = await follow(bearer(), `?domain=${fixture.rootId}`);
    expect(messages).toEqual([{ seq: expect.any(Number), now: expect.any(Number) }]);
  });

  it("no user into another domain", async () => {
    const { status, body } = await refusal(dial(bearer(), "", "/api/v1/users"));
    expect([status, body.type]).toEqual([404, "not-found"]);
  });

  it("at most 50 connections of one user", async () => {
    for (let at = 0; at < 50; at++) await follow(bearer());
    expect((await refusal(dial(bearer()))).status).toBe(429);
    const other = await fixture.user("Ann");
    await follow(bearer(other.token));
  });
});

describe("the live feed sends", () => {
  it("coalesced changes with their feed position", async () => {
    const admin = await follow(bearer());
    const { id } = await fixture.store.create(users, { name: "Bob" }, fixture.system);
    await fixture.store.update(users, id, { name: "Bobby" }, fixture.system);
    fixture.clock.advanceSync(100);
    const message = await admin.until(({ changes }) => changes !== undefined);
    expect(told(message)).toEqual([`create users ${id}`]);
    expect(message.seq).toBe(fixture.store.one<{ seq: number }>("SELECT max(seq) AS seq FROM changes")?.seq);
  });

  it("only readable changes to each client", async () => {
    const ann = await fixture.user("Ann");
    const reader = await fixture.user("Ron", "get /distribution-lists/*");
    fixture.clock.advanceSync(100);
    const [asAnn, asReader] = [await follow(bearer(ann.token)), await follow(bearer(reader.token))];
    const list = await fixture.store.create(distributionLists, { name: "Staff" }, fixture.system);
    const other = await fixture.store.create(users, { name: "Bob" }, fixture.system);
    await fixture.store.update(users, ann.id, { name: "Anna" }, fixture.system);
    fixture.clock.advanceSync(100);
    expect(told(await asAnn.until(({ changes }) => changes !== undefined))).toEqual([`update users ${ann.id}`]);
    expect(told(await asReader.until(({ changes }) => changes !== undefined))).toEqual([
      `create distribution-lists ${list.id}`,
    ]);
    await fixture.store.remove(users, other.id, fixture.system);
    await fixture.store.remove(distributionLists, list.id, fixture.system);
    fixture.clock.advanceSync(100);
    const isDelete = ({ changes }: Message) => changes?.[0]?.op === "delete";
    // Which user was deleted is nobody's business who could not read it.
    expect(told(await asAnn.until(isDelete))).toEqual(["delete users *"]);
    expect(told(await asReader.until(isDelete))).toContain(`delete distribution-lists ${list.id}`);
  });

  it("those who come back what they missed, also of rights", async () => {
    const { messages, socket, closed } = await follow(bearer());
    const since = messages[0]?.seq;
    socket.close();
    await closed;
    const { id } = await fixture.store.create(users, { name: "Bob" }, fixture.system);
    const again = await follow(bearer(), `?since=${since}`);
    expect(told(again.messages[0] as Message)).toEqual([`create users ${id}`]);
    const ann = await fixture.user("Ann");
    const asAnn = await follow(bearer(ann.token), `?since=${since}`);
    expect(told(asAnn.messages[0] as Message).filter((line) => line.includes(id))).toEqual([]);
  });

  it("those who come back what they missed and the change feed passes over, as long as that is known", async () => {
    await fixture.store.create(users, { name: "Bob" }, fixture.system);
    const { messages, socket, closed } = await follow(bearer());
    const since = messages[0]?.seq;
    socket.close();
    await closed;
    const link = (endpointId: string): void => fixture.events.emit("link.changed", { endpointId });
    link("first");
    fixture.clock.advanceSync(100);
    const again = await follow(bearer(), `?since=${since}`);
    expect(told(again.messages[0] as Message)).toEqual(["update link first"]);
    for (let at = 0; at < 2_000; at++) link(`n${at}`);
    fixture.clock.advanceSync(100);
    expect((await follow(bearer(), `?since=${since}`)).messages[0]).toMatchObject({ seq: since, resync: true });
  });

  it("a full reload to clients that missed too much or come from another database", async () => {
    const { seq } = (await follow(bearer())).messages[0] as Message;
    expect((await follow(bearer(), `?since=${seq + 1}`)).messages[0]).toMatchObject({ seq, resync: true });
    await fixture.store.write((tx) => {
      for (let at = 0; at < 2_001; at++) tx.create(distributionLists, { name: `List ${at}` }, fixture.system);
    });
    const late = (await follow(bearer(), `?since=${seq}`)).messages[0] as Message;
    expect(late).toMatchObject({ seq: seq + 2_001, resync: true });
    expect((await follow(bearer(), `?since=${seq + 1}`)).messages[0]?.changes).toHaveLength(2_000);
  });

  it("a heartbeat every 5 s", async () => {
    const { messages, until } = await follow(bearer());
    const first = messages[0] as Message;
    messages.length = 0;
    fixture.clock.advanceSync(5_000);
    expect(await until(() => true)).toEqual({ seq: first.seq, now: expect.any(Number) });
  });
});

describe("a connection of the live feed", () => {
  it("ends with the session: at log-out, at revocation, when its user is locked", async () => {
    const asSession = await follow(page());
    const [ann, ben] = [await fixture.user("Ann"), await fixture.user("Ben")];
    const [asToken, asUser] = [await follow(bearer(ann.token)), await follow(bearer(ben.token))];
    const principal = fixture.access.authenticate(cookie.slice(9), "cookie");
    if (!principal) throw new Error("no session");
    await revokeSession(fixture.store, principal, fixture.system);
    expect(await asSession.closed).toBe(4401);
    const row = fixture.store.find(userTokens, { userId: ann.id })[0];
    await fixture.store.remove(userTokens, row?.id as string, fixture.system);
    expect(await asToken.closed).toBe(4401);
    const lock = { start: null, end: null };
    await fixture.store.update(users, ben.id, { lock }, fixture.system);
    expect(await asUser.closed).toBe(4401);
  });

  it("does not count as activity of its session, and ends with it", async () => {
    const { closed } = await follow(page());
    for (let minute = 0; minute < 31; minute++) {
      fixture.clock.advanceSync(60_000);
      // Real turns, for the answers to pings.
      await new Promise((resolve) => setImmediate(resolve));
      await fixture.store.write(() => undefined);
    }
    expect(await closed).not.toBe(1000);
    expect(fixture.access.authenticate(cookie.slice(9), "cookie")).toBeNull();
  });

  it("is closed if pings stay unanswered", async () => {
    const { socket, closed } = await follow(bearer());
    socket.pong = () => undefined;
    socket.removeAllListeners("ping");
    (socket as unknown as { _autoPong: boolean })._autoPong = false;
    for (let beat = 0; beat < 4; beat++) fixture.clock.advanceSync(5_000);
    expect(await closed).toBe(1006);
  });

  it("is closed if it reads too slowly, while others continue", async () => {
    const [slow, fast] = [await follow(bearer()), await follow(bearer())];
    slow.socket.pause();
    let seq = 1_000_000;
    // More than the system keeps for a connection, 90 kB at a time.
    for (let round = 0; round < 200; round++) {
      for (let at = 0; at < 1_000; at++) {
        seq += 1;
        const id = `0190b7c2-0000-7000-8000-${seq.toString(16).padStart(12, "0")}`;
        fixture.events.emit("row.changed", { seq, resource: "users", id, op: "create" });
      }
      fixture.clock.advanceSync(100);
      await fast.until((message) => message.seq === seq);
      fast.messages.length = 0;
    }
    slow.socket.resume();
    expect(await slow.closed).toBe(1006);
    expect(slow.messages.at(-1)?.seq).toBeLessThan(seq);
    expect(fast.socket.readyState).toBe(fast.socket.OPEN);
  });

  it("ends when the appliance stops, and says nothing that is too long", async () => {
    const talker = await follow(bearer());
    talker.socket.send("x".repeat(2_000));
    expect(await talker.closed).toBe(1009);
    const last = await follow(bearer());
    feed.stop();
    changes.stop();
    expect([1001, 1006]).toContain(await last.closed);
    expect(fixture.clock.pendingTimers()).toBe(1);
  });
});
