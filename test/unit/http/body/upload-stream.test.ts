import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { readUpload } from "../../../../src/http/body/upload-stream.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function request(): Readable {
  return new Readable({ read() {} });
}

async function all(chunks: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) text += chunk.toString();
  return text;
}

it("waits as long as bytes arrive", async () => {
  const clock = createFakeClock();
  const sender = request();
  const text = all(readUpload(sender as IncomingMessage, clock));
  for (let minute = 0; minute < 60; minute++) {
    sender.push("x".repeat(2_048));
    await clock.advance(29_000);
  }
  sender.push(null);
  expect(await text).toHaveLength(60 * 2_048);
  expect(clock.pendingTimers()).toBe(0);
});

it("aborts an upload that is too slow", async () => {
  const clock = createFakeClock();
  const sender = request();
  const text = expect(all(readUpload(sender as IncomingMessage, clock))).rejects.toMatchObject({
    type: "invalid-value",
  });
  for (let second = 0; second < 31; second++) {
    sender.push("x");
    await clock.advance(1_000);
  }
  await text;
  expect(clock.pendingTimers()).toBe(0);
  // The server may still read what is left.
  expect(sender.destroyed).toBe(false);
});

it("reports a disconnected client", async () => {
  const sender = request();
  const text = expect(all(readUpload(sender as IncomingMessage, createFakeClock()))).rejects.toMatchObject({
    type: "invalid-value",
  });
  sender.destroy(new RangeError("cut"));
  await text;
});
