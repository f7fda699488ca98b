import { afterEach, beforeEach, describe, expect, it } from "vitest";
import distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import subscriptions from "../../../src/resources/people/subscriptions.ts";
import users from "../../../src/resources/people/users.ts";
import triggers from "../../../src/resources/webhooks/triggers.ts";
import { replayDelivery, rotateTriggerSecret } from "../../../src/webhooks/trigger-service.ts";
import { openWebhookFixture, type WebhookFixture } from "./webhook-fixture.ts";
import { startWebhookReceiver, verify, type WebhookReceiver } from "./webhook-receiver.ts";

const HOUR_MS = 3_600_000;

let at: WebhookFixture;
let receiver: WebhookReceiver;

beforeEach(async () => {
  at = await openWebhookFixture();
  receiver = await startWebhookReceiver();
});
afterEach(async () => {
  await at.close();
  await receiver.close();
});

const states = (id: string) => at.deliveries(id).map(({ state, attempts }) => `${state} ${attempts}`);
const delivered = (id: string, number: number) =>
  at.until(() => at.deliveries(id).filter(({ state }) => state === "delivered").length === number);

/** Fails calls until told to take them. */
function failing(status: number, headers: Record<string, string> = {}): void {
  receiver.answer = (response) => void response.writeHead(status, headers).end();
}
function taking(): void {
  failing(204);
}

describe("webhook delivery", () => {
  it("reuses one connection and opens a new one after the receiver closed it", async () => {
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    for (const [number, name] of ["One", "Two", "Three"].entries()) {
      await at.list(name);
      await delivered(id, number + 1);
    }
    expect(receiver.connections()).toBe(1);
    receiver.closeIdle();
    await at.list("Four");
    await delivered(id, 4);
    expect([receiver.connections(), states(id).at(-1)]).toEqual([2, "delivered 1"]);
  });

  it("reports each change of matching rows in order, signed according to the specification", async () => {
    const { id, secret } = await at.trigger({ url: receiver.url });
    await at.restart();
    const list = await at.list("Staff");
    await at.store.create(users, { name: "Nobody's business" }, at.system);
    await at.rename(list, "All staff");
    await at.store.remove(distributionLists, list, at.system);
    await delivered(id, 3);
    expect(receiver.calls.map(({ json }) => json.type)).toEqual([
      "distribution-lists.created",
      "distribution-lists.updated",
      "distribution-lists.deleted",
    ]);
    const [, updated] = receiver.calls;
    expect(updated?.json).toMatchObject({
      timestamp: new Date(at.clock.now()).toISOString(),
      data: { resource: "distribution-lists", id: list, path: `/v1/distribution-lists/${list}`, changed: ["name"] },
    });
    expect(updated?.json.data.row).toMatchObject({ id: list, name: "All staff" });
    for (const call of receiver.calls) {
      expect(verify(secret, call, at.clock.now())).toEqual(call.json);
      expect(() => verify(secret, { ...call, body: `${call.body} ` }, at.clock.now())).toThrow("signature");
    }
    expect(receiver.calls.map(({ headers }) => headers["webhook-id"])).toEqual(
      at.deliveries(id).map((each) => each.id),
    );
  });

  it("matches rows of a sub-collection by either path", async () => {
    const user = await at.user("Ann");
    const list = await at.list("Staff");
    const byUser = await at.trigger({ url: receiver.url, spec: `/users/${user.id}/subscriptions/*` });
    const byList = await at.trigger({ url: receiver.url, spec: "/distribution-lists/*/user-subscriptions/*" });
    await at.restart();
    await at.store.create(subscriptions, { userId: user.id, distributionListId: list }, at.system);
    const other = await at.user("Bob");
    await at.store.create(subscriptions, { userId: other.id, distributionListId: list }, at.system);
    await delivered(byList.id, 2);
    await delivered(byUser.id, 1);
  });

  it("reports only changes visible to the owner, judging deleted rows by their last state", async () => {
    const seen = await at.list("Seen");
    const unseen = await at.list("Unseen");
    const owner = await at.user("Owner", `get /distribution-lists/${seen}`, "get /triggers/*", "put /triggers/*");
    const { id } = await at.trigger({ url: receiver.url }, owner.by());
    expect(at.row(id).ownerId).toBe(owner.id);
    const all = await at.trigger({ url: receiver.url });
    await at.restart();
    await at.rename(unseen, "Still unseen");
    await at.store.remove(distributionLists, unseen, at.system);
    await at.rename(seen, "Seen again");
    await at.store.remove(distributionLists, seen, at.system);
    await delivered(all.id, 4);
    await delivered(id, 2);
    expect(at.deliveries(id).map(({ event, resourceId }) => `${event} ${resourceId}`)).toEqual([
      `distribution-lists.updated ${seen}`,
      `distribution-lists.deleted ${seen}`,
    ]);
  });

  it("reports the changes in the domain of an owner whose permissions hold there only", async () => {
    const [north, south] = [await at.domain("North"), await at.domain("South")];
    const owner = await at.userOf(north, "Owner", "get /distribution-lists/*", "post /triggers");
    const { id } = await at.trigger({ url: receiver.url }, owner.by());
    const all = await at.trigger({ url: receiver.url });
    await at.restart();
    const made: string[] = [];
    for (const where of [{ domainId: north }, { domainId: south }, { domainId: south, alsoIn: [north] }])
      made.push((await at.store.create(distributionLists, { name: "L" }, at.system, where)).id);
    await delivered(all.id, 3);
    await delivered(id, 2);
    expect(at.deliveries(id).map(({ resourceId }) => resourceId)).toEqual([made[0], made[2]]);
  });

  it("changes its owner with the URL and is deleted with the owner", async () => {
    const first = await at.user("First", "get /distribution-lists/*");
    const { id } = await at.trigger({ url: receiver.url }, first.by());
    const second = await at.user("Second", "get /triggers/*", "put /triggers/*");
    await at.store.update(triggers, id, { name: "Renamed" }, second.by());
    expect(at.row(id).ownerId).toBe(first.id);
    await at.store.update(triggers, id, { url: `${receiver.url}/mine` }, second.by());
    expect(at.row(id).ownerId).toBe(second.id);
    await at.restart();
    await at.list("Not for the second");
    const all = await at.trigger({ url: receiver.url, spec: "/users/*" });
    await at.store.create(users, { name: "Later" }, at.system);
    await delivered(all.id, 1);
    expect(at.deliveries(id)).toEqual([]);
    await at.store.remove(users, second.id, at.system);
    expect(at.store.get(triggers, id)).toBeNull();
  });

  it("pauses while the owner is locked and misses nothing", async () => {
    const owner = await at.user("Owner", "get /distribution-lists/*");
    const { id } = await at.trigger({ url: receiver.url }, owner.by());
    const lock = { start: null, end: new Date(at.clock.now() + HOUR_MS).toISOString() };
    await at.store.update(users, owner.id, { lock }, at.system);
    await at.restart();
    await at.list("Written meanwhile");
    const control = await at.trigger({ url: receiver.url });
    await at.list("And this");
    await delivered(control.id, 1);
    expect(at.deliveries(id)).toEqual([]);
    await at.store.update(users, owner.id, { lock: null }, at.system);
    await delivered(id, 2);
  });
});

describe("failing webhook", () => {
  it("retries with increasing delays while later messages about the same row wait", async () => {
    const { id, secret } = await at.trigger({ url: receiver.url });
    const list = await at.list("One");
    await at.restart();
    await delivered(id, 1);
    failing(500);
    await at.rename(list, "Two");
    await at.rename(list, "Three");
    await at.until(() => states(id)[1] === "pending 1" && states(id).length === 3);
    expect(at.deliveries(id)[1]).toMatchObject({ lastStatus: 500, reason: "The receiver responded with status 500." });
    await at.clock.advance(4_999);
    expect(receiver.calls).toHaveLength(2);
    await at.clock.advance(1_001);
    await at.until(() => states(id)[1] === "pending 2");
    // The second try was up to a second ago, by its own jitter.
    await at.clock.advance(28_999);
    expect(receiver.calls).toHaveLength(3);
    taking();
    await at.clock.advance(7_001);
    await delivered(id, 3);
    expect(states(id)).toEqual(["delivered 1", "delivered 3", "delivered 1"]);
    const ids = receiver.calls.map(({ headers }) => headers["webhook-id"]);
    expect([new Set(ids.slice(1, 4)).size, new Set(ids).size]).toEqual([1, 3]);
    expect(receiver.calls.slice(1, 4).map(({ body }) => body)).toEqual(Array(3).fill(receiver.calls[1]?.body));
    verify(secret, receiver.calls[3] as never, at.clock.now());
    expect(at.row(id).failingSince).toBeNull();
  });

  it("does not let a message that the receiver refuses delay those about other rows", async () => {
    receiver.answer = (response, { json }) => void response.writeHead(json.data.row.name === "Bad" ? 422 : 204).end();
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    const bad = await at.list("Bad");
    for (let number = 0; number < 20; number++) await at.list(`List ${number}`);
    await at.rename(bad, "Good");
    await delivered(id, 20);
    expect(states(id).filter((state) => state.startsWith("pending"))).toEqual(["pending 1", "pending 0"]);
    receiver.answer = (response) => void response.writeHead(204).end();
    await at.clock.advance(6_001);
    await delivered(id, 22);
    expect(receiver.calls.slice(-2).map(({ json }) => json.data.row.name)).toEqual(["Bad", "Good"]);
  });

  it("probes a receiver that is down with growing pauses, and delivers all at once when it is back", async () => {
    failing(503);
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    for (let number = 0; number < 200; number++) void at.list(`List ${number}`);
    await at.list("The last");
    const attempts = () => at.deliveries(id).reduce((sum, each) => sum + each.attempts, 0);
    const settled = () => at.until(() => attempts() > 0 && attempts() === receiver.calls.length);
    await at.until(() => at.deliveries(id).length === 201);
    for (let minute = 0; minute < 10; minute++) {
      await settled();
      await at.clock.advance(60_000);
    }
    await settled();
    // Without pauses each of the 201 messages would have been tried four times by now.
    expect(receiver.calls.length).toBeLessThan(60);
    expect(receiver.calls.length).toBeGreaterThan(10);
    taking();
    const before = receiver.calls.length;
    await at.clock.advance(60_000);
    await delivered(id, 201);
    expect(receiver.calls.length - before).toBe(201);
  });

  it("takes a long or endless body of an answer for what it is: delivered", async () => {
    let wasReadWhole: boolean | null = null;
    receiver.answer = (response, { json }) => {
      response.writeHead(200);
      if (json.data.row.name === "Endless") return void response.write("x");
      response.on("close", () => {
        wasReadWhole = response.writableFinished;
      });
      response.end("x".repeat(64 << 20));
    };
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    await at.list("Long");
    await at.list("Endless");
    await delivered(id, 2);
    expect(states(id)).toEqual(["delivered 1", "delivered 1"]);
    await at.until(() => wasReadWhole !== null);
    expect(wasReadWhole).toBe(false);
  });

  it("gives a message up after nine attempts, with the reason, and continues with the next", async () => {
    receiver.answer = (response, { json }) => void response.writeHead(json.data.row.name === "One" ? 503 : 204).end();
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    await at.list("One");
    await at.list("Two");
    for (let tries = 1; tries < 9; tries++) {
      await at.until(() => states(id)[0] === `pending ${tries}`);
      const next = at.deliveries(id)[0]?.nextAttemptAt ?? 0;
      await at.clock.advance(next - at.clock.now());
    }
    await delivered(id, 1);
    expect(states(id)).toEqual(["dead 9", "delivered 1"]);
    expect(at.deliveries(id)[0]).toMatchObject({
      reason: "The receiver responded with status 503.",
      nextAttemptAt: null,
    });
  });

  it("honours Retry-After", async () => {
    failing(429, { "retry-after": "120" });
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    await at.list("One");
    await at.until(() => states(id)[0] === "pending 1");
    expect(at.deliveries(id)[0]?.nextAttemptAt).toBe(at.clock.now() + 120_000);
  });

  it("is disabled after three days of failures and continues where it stopped", async () => {
    failing(500);
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    await at.list("One");
    await at.until(() => states(id)[0] === "pending 1");
    await at.store.write((tx) => void tx.run("UPDATE triggers SET failing_since = ?", at.clock.now() - 72 * HOUR_MS));
    await at.clock.advance(6_000);
    await at.until(() => at.row(id).disabled);
    expect(at.row(id).disabledReason).toMatch(/^All calls failed since .*: The receiver responded with status 500\.$/);
    taking();
    await at.list("Two");
    await at.clock.advance(HOUR_MS);
    expect(receiver.calls).toHaveLength(2);
    await at.store.update(triggers, id, { disabled: false }, at.system);
    await delivered(id, 2);
    expect(at.row(id).disabledReason).toBeNull();
  });

  it("is disabled by 410 Gone", async () => {
    failing(410);
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    await at.list("One");
    await at.until(() => at.row(id).disabled);
    expect(at.row(id).disabledReason).toBe("The receiver responded with 410 Gone.");
  });

  it("follows no redirects and times out after 30 s", async () => {
    failing(302, { location: receiver.url });
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    await at.list("One");
    await at.until(() => states(id)[0] === "pending 1");
    expect([receiver.calls.length, at.deliveries(id)[0]?.reason]).toEqual([
      1,
      "The receiver responded with status 302.",
    ]);
    receiver.answer = () => undefined;
    await at.clock.advance(6_000);
    await receiver.call(2);
    await at.clock.advance(30_000);
    await at.until(() => states(id)[0] === "pending 2");
    expect(at.deliveries(id)[0]?.reason).toContain("no response within 30 s");
  });
});

describe("reliability", () => {
  it("delivers changes made while it was stopped", async () => {
    const { id } = await at.trigger({ url: receiver.url });
    for (let number = 0; number < 210; number++) void at.list(`List ${number}`);
    await at.list("The last");
    await at.restart();
    await delivered(id, 211);
    const names = receiver.calls.map(({ json }) => json.data.row.name);
    expect(names.toSorted()).toEqual(["The last", ...Array.from({ length: 210 }, (_, at) => `List ${at}`)].toSorted());
  });

  it("repeats an interrupted call with the same id", async () => {
    let held = 0;
    receiver.answer = () => void held++;
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    await at.list("One");
    await receiver.call(1);
    await at.stop();
    expect(states(id)).toEqual(["pending 0"]);
    taking();
    await at.restart();
    await delivered(id, 1);
    const ids = receiver.calls.map(({ headers }) => headers["webhook-id"]);
    expect([held, ids.length, new Set(ids).size]).toEqual([1, 2, 1]);
  });

  it("replays a delivery", async () => {
    const { id } = await at.trigger({ url: receiver.url });
    await at.restart();
    await at.list("One");
    await delivered(id, 1);
    await replayDelivery(at.store, id, at.deliveries(id)[0]?.id ?? "");
    await receiver.call(2);
    await delivered(id, 1);
    expect(receiver.calls[1]?.body).toBe(receiver.calls[0]?.body);
    await expect(replayDelivery(at.store, id, id)).rejects.toThrow("not found");
  });
});

describe("signing key", () => {
  it("is rotated with a day of overlap", async () => {
    const { id, secret } = await at.trigger({ url: receiver.url });
    await at.restart();
    const { secret: next } = await rotateTriggerSecret(at, id, at.system);
    await at.list("One");
    const first = await receiver.call(1);
    verify(secret, first, at.clock.now());
    verify(next, first, at.clock.now());
    await delivered(id, 1);
    await at.clock.advance(24 * HOUR_MS);
    await at.list("Two");
    const second = await receiver.call(2);
    verify(next, second, at.clock.now());
    expect(() => verify(secret, second, at.clock.now())).toThrow("signature");
  });

  it("is stored encrypted and never part of an audit entry", async () => {
    const { id, secret } = await at.trigger({ url: receiver.url });
    const { secret: next } = await rotateTriggerSecret(at, id, at.system);
    const dump = JSON.stringify([
      at.store.all("SELECT * FROM triggers"),
      at.store.all("SELECT before, after FROM audit_entries"),
    ]);
    for (const key of [secret, next]) expect(dump).not.toContain(key.slice(6));
    expect(at.store.secrets.open(at.row(id).secret ?? "")).toBe(next);
  });
});
