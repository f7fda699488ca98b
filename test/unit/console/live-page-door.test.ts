import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createLivePageDoor, type LivePageDoor } from "../../../src/console/live-page-door.ts";
import { invalidValue } from "../../../src/lib/errors.ts";
import type { LivePageState } from "../../../src/notifications/notification-service.ts";
import type { ActorContext } from "../../../src/store/store.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";

let clock: FakeClock;
let server: Server;
let door: LivePageDoor;
let mayNotify: boolean;
let asked: Record<string, unknown>[];
let heard: Float32Array[];
let finished: number;
let tell: (state: LivePageState) => void;

beforeEach(async () => {
  clock = createFakeClock();
  [mayNotify, asked, heard, finished] = [false, [], [], 0];
  door = createLivePageDoor({
    clock,
    explain: (error) => ({ message: (error as Error).message }),
    notificationService: {
      async speak(input, _by, _options, told) {
        if (input.subject === "") throw invalidValue("subject", "It is missing.");
        asked.push(input);
        tell = told;
        return {
          notificationId: "n1",
          pushSamples: (samples) => heard.push(samples) > 0,
          finish: () => void finished++,
        };
      },
    },
  });
  const by = { scope: { allows: (_method: string, path: string) => mayNotify && path === "/notifications" } };
  server = createServer();
  server.on("upgrade", (request, socket, head) => door.accept(request, socket, head, by as unknown as ActorContext));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  door.stop();
  await new Promise((resolve) => server.close(resolve));
});

/** A connection, what it is told in order, and its end. */
async function speaker(): Promise<{
  socket: WebSocket;
  next(): Promise<Record<string, unknown>>;
  closed: Promise<number>;
}> {
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const told: Record<string, unknown>[] = [];
  const waiting: ((message: Record<string, unknown>) => void)[] = [];
  socket.on("message", (data) => {
    const message = JSON.parse(String(data)) as Record<string, unknown>;
    const first = waiting.shift();
    if (first) first(message);
    else told.push(message);
  });
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  await new Promise((resolve) => socket.on("open", resolve));
  const next = () => {
    const known = told.shift();
    return known ? Promise.resolve(known) : new Promise<Record<string, unknown>>((resolve) => waiting.push(resolve));
  };
  return { socket, next, closed };
}
const opening = (notification: object, rateHz: unknown = 8_000): string => JSON.stringify({ notification, rateHz });
const SPOKEN = { subject: "Live", deviceGroupIds: ["g1"], alertTone: "chime", drill: true };

it("forwards the voice, reports the state and closes at the end", async () => {
  const { socket, next, closed } = await speaker();
  socket.send(opening(SPOKEN));
  expect(await next()).toEqual({ state: "calling", notificationId: "n1" });
  expect(asked).toEqual([SPOKEN]);
  tell({ state: "speak", notificationId: "n1", inMs: 700 });
  expect(await next()).toMatchObject({ state: "speak", inMs: 700 });
  const pcm = Buffer.alloc(7);
  pcm.writeInt16LE(16_384, 0);
  pcm.writeInt16LE(-32_768, 2);
  socket.send(pcm);
  socket.send(JSON.stringify({ finished: true }));
  await expect.poll(() => finished, { timeout: 90_000, interval: 5 }).toBe(1);
  expect([...(heard[0] ?? [])]).toEqual([0.5, -1, 0]);
  tell({ state: "over", notificationId: "n1", reason: "finished" });
  expect(await next()).toMatchObject({ state: "over", reason: "finished" });
  expect(await closed).toBe(1_000);
});

it("finishes the page when the connection is lost", async () => {
  const { socket, next } = await speaker();
  socket.send(opening(SPOKEN));
  await next();
  socket.terminate();
  await expect.poll(() => finished, { timeout: 90_000, interval: 5 }).toBe(1);
});

it.each([
  ["nonsense", "JSON object"],
  [opening(SPOKEN, 95_999), "rateHz"],
  [opening({ ...SPOKEN, subject: "" }), "missing"],
  [opening({ ...SPOKEN, audio: "x" }), "no recording"],
])("refuses %s in words", async (text, words) => {
  const { socket, next, closed } = await speaker();
  socket.send(text);
  expect(await next()).toMatchObject({ state: "refused", error: { message: expect.stringContaining(words) } });
  expect(await closed).toBe(4_400);
});

it.each([{ priority: "critical" }, { userIds: ["u1"] }, { messageTemplateId: "t1" }, { confirmationRequestId: "c1" }])(
  "takes %j only of who may send messages",
  async (more) => {
    const { socket, next } = await speaker();
    socket.send(opening({ ...SPOKEN, ...more }));
    expect(await next()).toMatchObject({ state: "refused" });
    expect(asked).toEqual([]);
    mayNotify = true;
    const allowed = await speaker();
    allowed.socket.send(opening({ ...SPOKEN, ...more }));
    expect(await allowed.next()).toMatchObject({ state: "calling" });
  },
);

it("ends a connection that says nothing, for its rights may be gone by then", async () => {
  const { closed } = await speaker();
  await clock.advance(10_000);
  expect(await closed).toBe(1_006);
});
