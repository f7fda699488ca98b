import { describe, expect, it } from "vitest";
import { frameJsonSchema, parseFrame } from "../../../src/sync/protocol/frame-schemas.ts";
import type { Frame } from "../../../src/sync/protocol/frames.ts";

const page: Frame = {
  t: "rows",
  feed: "down.bulk",
  from: 4,
  to: 9,
  rows: [
    ["p", "rooms", "a", 5, { name: "Hall" }],
    ["d", "rooms", "b", 9],
  ],
  mark: { decided: 0, results: [] },
};

describe("parseFrame", () => {
  it("accepts frames, and ignores members and types of a later version", () => {
    expect(parseFrame(page, "hub")).toEqual({ frame: page });
    expect(parseFrame({ ...page, later: true }, "hub")).toEqual({ frame: { ...page, later: true } });
    expect(parseFrame({ t: "goaway", after: 3 }, "hub")).toEqual({ frame: null });
  });

  it.each([
    ["nothing", undefined, "Must be a JSON object"],
    ["a text", "rows", "Must be a JSON object"],
    ["a frame of the other side", { t: "hello" }, "Frame hello must not be sent by this side."],
    ["a name of every object", { t: "constructor" }, null],
    ["no rows", { ...page, rows: undefined }, "rows: rows: "],
    ["an unknown operation", { ...page, rows: [["x", "rooms", "a", 5]] }, "rows: rows.0.0: "],
    ["an id with control characters", { ...page, rows: [["p", "rooms", "a\u0000", 5, {}]] }, "rows: rows.0.2: "],
    ["a number beyond its page", { ...page, rows: [["d", "rooms", "a", 10]] }, "rows: sequence number 10 must be above 4"],
    ["numbers that fall", { ...page, rows: [...page.rows].reverse() }, "rows: sequence number 5 must be above 9"],
    ["an end before the beginning", { ...page, to: 3, rows: [] }, "rows: `to` must not be below `from`."],
    ["a broken number", { t: "pong", t0: 1, ct: Number.NaN, head: 1, leases: [] }, "pong: ct: "],
    [
      "a command without a time",
      { t: "cmd", cseq: 1, command: { cid: "c", kind: "broadcast" } },
      "cmd: command.class: ",
    ],
    ["a path for a file", { t: "need", sha256: "../../etc/passwd", from: 0 }, "need: sha256: "],
  ])("refuses %s", (_, value, error) => {
    const read = parseFrame(value, "hub");
    if (error === null) expect(read).toEqual({ frame: null });
    else expect(read).toEqual({ error: expect.stringMatching(new RegExp(`^${error.replaceAll(".", "\\.")}`)) });
  });

  it("publishes its schemas as JSON Schema", () => {
    for (const from of ["hub", "site"] as const) {
      const schema = frameJsonSchema(from) as { anyOf: { properties: { t: { const: string } }; required: string[] }[] };
      expect(schema.anyOf.map(({ properties }) => properties.t.const)).toContain(from === "hub" ? "welcome" : "hello");
      for (const { required } of schema.anyOf) expect(required).toContain("t");
    }
  });
});
