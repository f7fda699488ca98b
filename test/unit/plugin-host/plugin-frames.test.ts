import { randomBytes } from "node:crypto";
import { serialize } from "node:v8";
import { describe, expect, it } from "vitest";
import { createFrameReader, encodeFrame } from "../../../src/plugin-host/plugin-frames.ts";
import { isPluginMessage } from "../../../src/plugin-host/plugin-message-check.ts";

const MESSAGES = [
  { kind: "pong" },
  { kind: "log", level: "info", values: { list: [1, "two", null] }, message: "text" },
  { kind: "phone-voice", callId: "c", codec: "PCMU", payload: new Uint8Array([1, 2, 3]) },
  { kind: "outcomes", notes: [{ deliveryId: 1, level: "accepted", details: {}, at: 0 }] },
];

describe("frames of a plugin's process", () => {
  it("arrive whole and in order, however the bytes are cut", () => {
    const bytes = Buffer.concat(MESSAGES.map(encodeFrame));
    for (let size = 1; size <= bytes.length; size++) {
      const got: unknown[] = [];
      const read = createFrameReader(1_000, (message) => got.push(message));
      for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size));
      expect(got).toEqual(MESSAGES);
    }
  });

  it("are refused when they are too long, before their bytes have come", () => {
    const read = createFrameReader(1_000, () => {});
    expect(() => read(Buffer.from([0xe9, 3, 0, 0]))).toThrow("too long");
    const exact = createFrameReader(serialize("x").length, () => {});
    expect(() => exact(encodeFrame("xx"))).toThrow("too long");
    expect(() => createFrameReader(serialize("x").length, () => {})(encodeFrame("x"))).not.toThrow();
  });

  it("with anything in them throw, or are messages of the right types", () => {
    for (let round = 0; round < 2_000; round++) {
      const body = randomBytes(1 + (round % 60));
      const head = Buffer.alloc(4);
      head.writeUInt32LE(body.length);
      try {
        createFrameReader(1_000, (message) => expect(isPluginMessage(message)).toBe(false))(
          Buffer.concat([head, body]),
        );
      } catch (error) {
        expect((error as Error).name).not.toBe("AssertionError");
      }
    }
  });
});

describe("a message of a plugin's process", () => {
  it.each(MESSAGES)("is taken: %j", (message) => {
    expect(isPluginMessage(message)).toBe(true);
  });

  it.each([
    null,
    1,
    "pong",
    [],
    {},
    { kind: 1 },
    { kind: "toString" },
    { kind: "__proto__" },
    { kind: "log", level: "child", values: {}, message: "x" },
    { kind: "log", level: "info", values: null, message: "x" },
    { kind: "log", level: "info", values: {}, message: {} },
    { kind: "outcomes", notes: {} },
    { kind: "outcomes", notes: [{ deliveryId: 1, level: "accepted", details: null, at: 0 }] },
    { kind: "outcomes", notes: [{ deliveryId: 1, level: "accepted", details: {}, at: "now" }] },
    { kind: "call", id: "1", method: "trigger", args: [] },
    { kind: "call", id: 1, method: "trigger", args: {} },
    { kind: "response", id: 1, response: { status: 100 } },
    { kind: "response", id: 1, response: { status: 200, headers: { "a b": "c" } } },
    { kind: "response", id: 1, response: { status: 200, headers: { a: "b\nc" } } },
    { kind: "response", id: 1, response: { status: 200, headers: { a: ["b"] } } },
    { kind: "response", id: 1, response: { status: 200, body: 1 } },
    { kind: "probed", id: 1, result: { proof: "heard" } },
    { kind: "probed", id: 1, result: { proof: null, reason: {} } },
    { kind: "status", state: "fine", reason: null },
    { kind: "status", state: "ok", reason: 1 },
    { kind: "listening", name: "auth", url: "http://a", port: 0 },
    { kind: "report-offered", report: { key: "a", name: "b", description: "c", columns: [1], parameters: [] } },
    { kind: "report-offered", report: { key: "a", name: "b", description: "c", columns: [], parameters: [null] } },
    { kind: "report-lines", id: 1, lines: [[{}]] },
    { kind: "phone-voice", callId: "c", codec: "PCMU", payload: [1] },
    { kind: "fields", config: { "a-b": { kind: "text", doc: "x" } }, profile: null },
    { kind: "fields", config: { a: { doc: "x" } }, profile: null },
    { kind: "fields", config: [], profile: null },
  ])("is refused: %j", (message) => {
    expect(isPluginMessage(message)).toBe(false);
  });
});
