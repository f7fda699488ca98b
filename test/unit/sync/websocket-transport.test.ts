import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import { beforeEach, describe, expect, it } from "vitest";
import type { WebSocket } from "ws";
import type { Frame } from "../../../src/sync/protocol/frames.ts";
import { compressFrame, decompressFrame } from "../../../src/sync/transport/frame-compression.ts";
import { createWebSocketTransport, LINK_PROTOCOLS } from "../../../src/sync/transport/websocket-transport.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { waitForAssertions } from "../../support/timeouts.ts";

let clock: FakeClock;
beforeEach(() => {
  clock = createFakeClock();
});

describe("WebSocket transport", () => {
  const BULK_BYTES = 20_000;
  const page = (to: number, bytes = BULK_BYTES): Frame => {
    const rows = [["p", "deliveries", "x", to, { reason: randomBytes(bytes).toString("base64") }]] as never;
    return { t: "rows", feed: "up.bulk", from: 0, to, tail: "t", rows };
  };
  const urgent: Frame = { t: "heard", cid: "c" };

  /** A socket whose other side answers a ping when the test says so. */
  function open(wayMs: number) {
    const sent: (string | Buffer)[] = [];
    const pings: string[] = [];
    const got: unknown[] = [];
    const socket = Object.assign(new EventEmitter(), {
      ...{ readyState: 1, OPEN: 1, protocol: LINK_PROTOCOLS[0], close: () => undefined, terminate: () => undefined },
      ping: (name: string) => void pings.push(name),
      send(data: string | Buffer, done: () => void) {
        sent.push(data);
        done();
      },
    });
    const ends = { frame: (value: unknown) => void got.push(value), closed: () => undefined };
    const wire = createWebSocketTransport(socket as unknown as WebSocket, clock, ends);
    const answer = (): void => {
      clock.advanceSync(wayMs);
      socket.emit("pong", Buffer.from(pings.at(-1) ?? ""));
    };
    answer();
    return { wire, sent, got, socket, answer };
  }

  it("sends frames uncompressed on a fast link", async () => {
    const { wire, sent } = open(1);
    for (const frame of [page(1), page(2), urgent]) wire.send(frame);
    await waitForAssertions(() => expect(sent.length).toBe(3));
    expect(sent.map((data) => (JSON.parse(data.toString()) as Frame).t)).toEqual(["rows", "rows", "heard"]);
  });

  it("compresses frames on a slow link, and delays an urgent frame by at most one frame", async () => {
    const { wire, sent, answer } = open(50);
    const pages = [page(1), page(2)];
    for (const frame of [...pages, urgent]) wire.send(frame);
    // What is urgent does not even wait until that one is known to have arrived.
    await waitForAssertions(() => expect(sent.length).toBe(2));
    answer();
    await waitForAssertions(() => expect(sent.length).toBe(3));
    const read = await Promise.all(
      sent.map((data) => (typeof data === "string" ? data : decompressFrame(data, 100_000))),
    );
    expect(read.map((text) => JSON.parse(text) as Frame)).toEqual([pages[0], urgent, pages[1]]);
    const plainLengths = read.map((text) => text.length);
    expect(sent.map((data, at) => data.length < (plainLengths[at] ?? 0))).toEqual([true, false, true]);
  });

  it("sends requests before bulk data, and urgent frames before both", async () => {
    const { wire, sent, answer } = open(50);
    wire.send(page(1));
    wire.send(page(2));
    wire.sendControl({ t: "ask", ref: "r", of: { kind: "renew", request: "x" } });
    wire.send(urgent);
    await waitForAssertions(() => expect(sent.length).toBe(2));
    answer();
    await waitForAssertions(() => expect(sent.length).toBe(4));
    const kinds = sent.map((data) => (typeof data === "string" ? (JSON.parse(data) as Frame).t : "packed"));
    expect(kinds).toEqual(["packed", "heard", "ask", "packed"]);
  });

  it("limits unconfirmed data to 8 KiB on a slow link, also for short frames", async () => {
    const { wire, sent, answer } = open(50);
    const pages = Array.from({ length: 20 }, (_, to) => page(to, 3_000));
    for (const frame of pages) wire.send(frame);
    const bytes = (): number => sent.reduce((sum, data) => sum + data.length, 0);
    await waitForAssertions(() => expect(bytes()).toBeGreaterThan(8_192));
    const before = sent.length;
    expect(before).toBeLessThan(5);
    wire.send(urgent);
    await waitForAssertions(() => expect(sent.length).toBe(before + 1));
    expect(sent.at(-1)?.toString()).toBe(JSON.stringify(urgent));
    for (let answers = 0; sent.length < pages.length + 1 && answers < pages.length; answers++) {
      const known = sent.length;
      answer();
      await waitForAssertions(() => expect(sent.length).toBeGreaterThan(known));
    }
    expect(sent.length).toBe(pages.length + 1);
  });

  it("decompresses frames synchronously, so that urgent ones do not wait for pages before them", async () => {
    const { got, socket } = open(50);
    const pages = Array.from({ length: 20 }, (_, to) => page(to));
    const packed = await Promise.all(pages.map((each) => compressFrame(JSON.stringify(each))));
    for (const data of packed) socket.emit("message", data, true);
    socket.emit("message", Buffer.from(JSON.stringify(urgent)), false);
    expect(got).toEqual([...pages, urgent]);
  });

  it("decompresses very long frames asynchronously and keeps their order", async () => {
    const { got, socket } = open(50);
    const long = page(1, 400_000);
    socket.emit("message", await compressFrame(JSON.stringify(long)), true);
    socket.emit("message", await compressFrame(JSON.stringify(page(2))), true);
    socket.emit("message", Buffer.from(JSON.stringify(urgent)), false);
    expect(got).toEqual([]);
    await waitForAssertions(() => expect(got.length).toBe(3));
    expect([got[0], got[2]]).toEqual([long, urgent]);
  });

  it("keeps the order of frames, and closes the connection on a malformed one", async () => {
    const { got, socket } = open(1);
    const first = page(1);
    socket.emit("message", await compressFrame(JSON.stringify(first)), true);
    socket.emit("message", Buffer.from(JSON.stringify(urgent)), false);
    await waitForAssertions(() => expect(got).toEqual([first, urgent]));
    await expect(decompressFrame(await compressFrame("x".repeat(1_000)), 999)).rejects.toThrow();
    await expect(decompressFrame(Buffer.from([2, 1]), 999)).rejects.toThrow("not packed");
  });
});
