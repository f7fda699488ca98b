import { expect, it } from "vitest";
import type { ChangedRow } from "../../../../src/webhooks/change-feed/change-broadcaster.ts";
import type { ChangeFeed, ChangeSubscriber } from "../../../../src/webhooks/change-feed/change-feed.ts";
import { createEventStream } from "../../../../src/webhooks/change-feed/event-stream.ts";

const listener = { principal: {} as never, domainId: null, since: null, resources: null };
const change = (id: string): ChangedRow => ({ resource: "users", id, op: "update" });

/** A feed whose followers a test tells itself. */
function open() {
  const followers = new Set<ChangeSubscriber>();
  const feed: ChangeFeed = {
    assertCapacity: () => undefined,
    subscribe(follower) {
      followers.add(follower);
      return { seq: 7, missed: [], unsubscribe: () => void followers.delete(follower) };
    },
    stop: () => undefined,
  };
  const tell = (seq: number, ...changes: ChangedRow[]): void => {
    for (const follower of followers) follower.onChanges(seq, changes);
  };
  return { followers, stream: createEventStream(feed), tell };
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const part of stream) text += part.toString();
  return text;
}

it("disconnects a slow reader with a reason and unsubscribes", async () => {
  const { followers, stream, tell } = open();
  const [slow, quick] = [stream.open(listener), stream.open(listener)];
  slow.read(0);
  const read = textOf(quick);
  await new Promise(setImmediate);
  expect(followers.size).toBe(2);
  const many = Array.from({ length: 1_000 }, (_, at) => change(`id-${at}`));
  for (let seq = 8; seq < 12; seq++) {
    tell(seq, ...many);
    await new Promise(setImmediate);
  }
  expect(followers.size).toBe(1);
  expect(slow.readableLength).toBeLessThan(262_144 + 150_000);
  expect((await textOf(slow)).endsWith('event: end\ndata: {"reason":"The stream was read too slowly."}\n\n')).toBe(
    true,
  );
  stream.stop();
  const all = await read;
  expect(all.match(/^id: \d+$/gm)).toEqual(["id: 7", "id: 8", "id: 9", "id: 10", "id: 11"]);
  expect(all).toContain('{"reason":"Carillon is stopping."}');
});

it("sends a comment every third heartbeat, and nothing after the reader has closed", async () => {
  const { followers, stream } = open();
  const opened = stream.open(listener);
  let text = "";
  opened.on("data", (part: Buffer) => {
    text += part.toString();
  });
  await new Promise(setImmediate);
  for (let beat = 0; beat < 6; beat++) for (const follower of followers) follower.onHeartbeat(7);
  await new Promise(setImmediate);
  expect(text.match(/: heartbeat/g)).toHaveLength(2);
  opened.destroy();
  await new Promise(setImmediate);
  expect(followers.size).toBe(0);
});

it("subscribes on the first read", () => {
  const { followers, stream } = open();
  stream.open(listener);
  expect(followers.size).toBe(0);
});
