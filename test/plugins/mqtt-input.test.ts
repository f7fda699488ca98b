import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/mqtt-input/index.ts";
import { createMessageDeduplicator } from "../../plugins/mqtt-input/message-deduplication.ts";
import { matchesTopicFilter, parseTopics } from "../../plugins/mqtt-input/topic-subscriptions.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { type HandleHostCall, type HostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { type BrokerRules, openBroker, type TestBroker } from "./mqtt-broker.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(rules?: BrokerRules): Promise<TestBroker> {
  const broker = await openBroker(rules);
  closing.push(broker.close);
  return broker;
}

/** What the host keeps of the plugin's state, over its runs. */
type Kept = Map<unknown, unknown>;

/** Runs the plugin; its triggers are answered by `trigger`, its state is kept. */
async function run(
  config: object,
  { kept = new Map(), trigger, clock }: { kept?: Kept; trigger?: HandleHostCall; clock?: FakeClock } = {},
): Promise<InlinePlugin> {
  const answer = (call: HostCall): unknown => {
    if (call.method === "state.get") return kept.get(call.args[0]);
    if (call.method === "state.set") return void kept.set(...(call.args as [unknown, unknown]));
    return trigger?.(call);
  };
  const usual = { username: null, password: null, clientId: "here", certificateAuthority: null, topics: [] };
  const started = await runInline(plugin, {
    config: { ...usual, ...config },
    answer,
    clock: clock ?? createFakeClock(),
  });
  closing.push(() => started.close());
  return started;
}

const triggers = ({ calls }: InlinePlugin): Record<string, unknown>[] =>
  calls.filter(({ method }) => method === "trigger").map(({ args }) => args[0] as Record<string, unknown>);

/** Waits until the plugin has triggered so often. */
async function triggered(mqtt: InlinePlugin, count: number): Promise<Record<string, unknown>[]> {
  while (triggers(mqtt).length < count) await mqtt.called(mqtt.calls.length + 1);
  return triggers(mqtt);
}

describe("mqtt-input", () => {
  it("triggers inputs of subscribed topics", async () => {
    const broker = await open({ password: "sesame" });
    await broker.publish("doors/1", "old", { retain: true });
    await broker.publish("doors/9", "kept", { retain: true });
    const topics = [
      { topic: "doors/1", source: "Door 1", stateMember: "contact" },
      { topic: "doors/9", source: "Door 9", retained: true },
      { topic: "trunk", calls: true },
      { topic: "buttons/+/pressed" },
    ];
    const mqtt = await run({ brokerUrl: broker.url, username: "u", password: "sesame", topics });
    await broker.subscribed(4);
    await broker.publish("doors/1", '{"contact": false, "room": 12}');
    await broker.publish("buttons/7/pressed", "yes", { qos: 0 });
    await broker.publish("trunk", '{"call": {"state": "held"}}');
    const call = { callId: "1", state: "ringing", calledNumber: "911" };
    await broker.publish("trunk", JSON.stringify({ call }));
    await broker.publish("elsewhere", "closed");
    const got = await triggered(mqtt, 4);
    const sources = (source: string) => got.filter((each) => each.source === source);
    expect(sources("Door 9")).toMatchObject([{ values: { topic: "doors/9", state: "kept" } }]);
    expect(sources("Door 1")).toMatchObject([{ values: { contact: false, state: "false", room: 12 } }]);
    expect(sources("buttons/7/pressed")).toMatchObject([{ values: { state: "yes" } }]);
    expect(sources("trunk")).toMatchObject([{ values: { topic: "trunk" }, call }]);
    expect(mqtt.statuses.at(-1)).toEqual({ state: "ok", reason: null });
  });

  it("receives its part of shared subscriptions", async () => {
    const broker = await open();
    const topics = [{ topic: "$share/carillon/door/1", source: "Door" }, { topic: "$share/carillon/window/+" }];
    const mqtt = await run({ brokerUrl: broker.url, topics });
    await broker.subscribed(2);
    await broker.publish("door/1", "1");
    await broker.publish("window/2", "open");
    expect(await triggered(mqtt, 2)).toMatchObject([
      { source: "Door", values: { topic: "door/1", state: "1" } },
      { source: "window/2", values: { state: "open" } },
    ]);
    expect(broker.followed).toEqual(topics.map(({ topic }) => topic));
  });

  it("subscribes once to what several topics cover, and to the narrow ones where the wide one is refused", async () => {
    const broker = await open();
    const names = ["doors/#", "doors/1", "$share/g/doors/2", "doors/+/state", "a/+", "+/b", "doors", "a/+"];
    const topics = names.map((topic) => ({ topic }));
    const mqtt = await run({ brokerUrl: broker.url, topics });
    await broker.subscribed(3);
    expect(broker.followed).toEqual(["doors/#", "a/+", "+/b"]);
    await broker.publish("doors/1", "closed");
    await broker.publish("a/1", "closed");
    expect((await triggered(mqtt, 2)).map(({ source }) => source)).toEqual(["doors/1", "a/1"]);
    const strict = await open({ forbidden: ["doors/#"] });
    const partly = await run({ brokerUrl: strict.url, topics });
    await partly.said(({ reason }) => reason === "the broker refused the topics doors/#");
    expect(strict.followed).toEqual(["doors/#", "a/+", "+/b", "doors/1", "$share/g/doors/2", "doors/+/state", "doors"]);
  });

  it("connects under a name that stays and that no other appliance has", async () => {
    const broker = await open();
    const config = { brokerUrl: broker.url, clientId: null };
    const [mine, other, old]: [Kept, Kept, Kept] = [new Map(), new Map(), new Map([["recent", []]])];
    for (const kept of [mine, other, mine, old]) {
      const mqtt = await run(config, { kept });
      await mqtt.said(({ state }) => state === "ok");
      await mqtt.close();
      closing.pop();
    }
    const names = broker.clients();
    expect(names).toHaveLength(3);
    expect(names.filter((name) => /^carillon-[0-9a-f-]{36}$/.test(name))).toHaveLength(2);
    // The session of an earlier release has messages in its queue.
    expect(names).toContain("carillon");
  });

  it("acknowledges only stored messages; others are redelivered once", async () => {
    const broker = await open();
    const kept: Kept = new Map();
    const clock = createFakeClock();
    let full = true;
    const trigger = (): unknown => (full ? new Error("the disk is full") : undefined);
    const config = { brokerUrl: broker.url, topics: [{ topic: "door" }] };
    const mqtt = await run(config, { kept, trigger, clock });
    await broker.subscribed(1);
    await broker.publish("door", "closed");
    await triggered(mqtt, 1);
    full = false;
    await mqtt.close();
    closing.pop();
    // Another run of the plugin, after a crash say.
    const next = await run(config, { kept, trigger });
    const [again] = await triggered(next, 1);
    expect(again?.dedupeKey).toBe(triggers(mqtt)[0]?.dedupeKey);
    await broker.publish("door", "closed");
    const [, other] = await triggered(next, 2);
    expect(other?.dedupeKey).not.toBe(again?.dedupeKey);
  });

  it("receives messages queued while offline", async () => {
    const broker = await open();
    const config = { brokerUrl: broker.url, topics: [{ topic: "door" }] };
    const mqtt = await run(config);
    await broker.subscribed(1);
    await mqtt.close();
    closing.pop();
    await broker.publish("door", "closed");
    expect(await triggered(await run(config), 1)).toMatchObject([{ source: "door", values: { state: "closed" } }]);
  });

  it("reports an unreachable broker and refused topics", async () => {
    const broker = await open({ password: "sesame", forbidden: ["secret/#"] });
    const refused = await run({ brokerUrl: broker.url, username: "u", password: "wrong" });
    expect(await refused.said(({ state }) => state === "down")).toMatchObject({
      reason: expect.stringContaining("Not authorized"),
    });
    const alone = await run({ brokerUrl: broker.url, password: "sesame" });
    await alone.said(({ reason }) => reason?.includes("username must be set if password is set") === true);
    const config = { brokerUrl: broker.url, username: "u", password: "sesame", clientId: "there" };
    const partly = await run({ ...config, topics: [{ topic: "secret/#" }, { topic: "door" }, { topic: "a#" }] });
    const status = await partly.said(({ reason }) => reason?.includes("refused") === true);
    expect(status).toEqual({
      state: "degraded",
      reason: "topics[2]: a# must be a valid topic filter; the broker refused the topics secret/#",
    });
    broker.cut("there");
    const cut = await partly.said(({ reason }) => reason?.includes("connection closed") === true);
    expect(cut).toMatchObject({ state: "down" });
    for (const [brokerUrl, state, words] of [
      [null, "unconfigured", "brokerUrl must be set"],
      ["http://example.org", "degraded", "mqtt://"],
      ["example", "degraded", "mqtt://"],
    ])
      expect((await run({ brokerUrl })).statuses).toEqual([
        { state, reason: expect.stringContaining(words as string) },
      ]);
  });
});

describe("redelivered messages", () => {
  const message = { topic: "door", payload: Buffer.from("closed"), messageId: 7, dup: false };

  it("are recognized by DUP or a missing acknowledgement, for the last fifty", async () => {
    const kept: Kept = new Map();
    const state = {
      get: async (key: string) => kept.get(key),
      set: async (k: string, v: unknown) => void kept.set(k, v),
    };
    const memory = createMessageDeduplicator(state);
    const first = await memory.eventKeyFor(message);
    expect(await createMessageDeduplicator(state).eventKeyFor(message)).toBe(first);
    await memory.acknowledge(first);
    expect(await createMessageDeduplicator(state).eventKeyFor({ ...message, dup: true })).toBe(first);
    expect(await memory.eventKeyFor({ ...message, dup: true, payload: Buffer.from("open") })).not.toBe(first);
    const second = await memory.eventKeyFor(message);
    expect(second).not.toBe(first);
    expect(await memory.eventKeyFor({ ...message, dup: true })).toBe(second);
    expect(await memory.eventKeyFor({ ...message, messageId: null, dup: true })).not.toBe(second);
    for (let messageId = 100; messageId < 150; messageId++) await memory.eventKeyFor({ ...message, messageId });
    expect(await memory.eventKeyFor({ ...message, dup: true })).not.toBe(second);
  });

  it.each([
    ["a/b", "a/b", true],
    ["a/b", "a/b/c", false],
    ["a/+", "a/b", true],
    ["a/+", "a", false],
    ["a/+/c", "a/b/c", true],
    ["a/#", "a", true],
    ["a/#", "a/b/c", true],
    ["#", "a/b", true],
    ["#", "$SYS/x", false],
    ["$SYS/#", "$SYS/x", true],
    ["+/x", "$SYS/x", false],
    ["a/b/c", "a/b", false],
  ])("the filter %s and the topic %s: %s", (filter, topic, meant) => {
    expect(matchesTopicFilter(filter, topic)).toBe(meant);
    expect(matchesTopicFilter(`$share/group/${filter}`, topic)).toBe(meant);
  });

  it("may be shared by a group with a plain name", () => {
    const given = [
      "$share/g/a",
      "$share/g/#",
      "$share/g//a",
      "$share/g/",
      "$share/g",
      "$share//a",
      "$share/+/a",
      "$share/#",
    ];
    const { topics, errors } = parseTopics(given.map((topic) => ({ topic })));
    expect(topics.map(({ filter }) => filter)).toEqual(["$share/g/a", "$share/g/#", "$share/g//a"]);
    expect(errors).toHaveLength(5);
  });
});
