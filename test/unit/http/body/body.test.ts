import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { compileBodyParser, readBody } from "../../../../src/http/body/body.ts";
import type { FileStore } from "../../../../src/store/store.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

/** A multipart body of text parts, which arrives in one chunk. */
function arrivesAtOnce(parts: number): IncomingMessage {
  const head = 'Content-Disposition: form-data; name="a[]"';
  const body = `${`--b\r\n${head}\r\n\r\nx\r\n`.repeat(parts)}--b--\r\n`;
  const headers = { "content-type": "multipart/form-data; boundary=b", "content-length": String(body.length) };
  return Object.assign(Readable.from([Buffer.from(body)]), { headers }) as unknown as IncomingMessage;
}

it("yields to the event loop while reading thousands of parts", async () => {
  const clock = createFakeClock();
  let turns = 0;
  const needs = {
    clock: {
      ...clock,
      defer(fn: () => void) {
        turns++;
        clock.defer(fn);
      },
    },
    files: {} as FileStore,
  };
  const { value } = await readBody(arrivesAtOnce(1_000), compileBodyParser({}), needs);
  expect((value as { a: string[] }).a).toHaveLength(1_000);
  expect(turns).toBeGreaterThanOrEqual(6);
});

describe("text bodies", () => {
  const needs = { clock: createFakeClock(), files: {} as FileStore };

  function sends(type: string, pieces: Iterable<Buffer>, headers: Record<string, string> = {}): Readable {
    const all = { "content-type": type, "transfer-encoding": "chunked", ...headers };
    return Object.assign(Readable.from(pieces, { objectMode: false }), { headers: all });
  }

  function read(request: Readable, clock = needs.clock) {
    return readBody(request as unknown as IncomingMessage, compileBodyParser({}), { ...needs, clock });
  }

  it.each(["application/json", "application/x-www-form-urlencoded"])("stops reading an endless %s", async (type) => {
    let sent = 0;
    const pieces = (function* () {
      for (; sent < 1_000; sent++) yield Buffer.alloc(65_536, "1");
    })();
    await expect(read(sends(type, pieces))).rejects.toMatchObject({ type: "too-large" });
    expect(sent).toBeLessThan(60);
  });

  it.each(["[", '{"a":', '[{"a":'])("refuses deep nesting of %s without a stack overflow", async (open) => {
    const deep = Buffer.from(open.repeat(1_000_000 / open.length));
    const began = process.cpuUsage();
    await expect(read(sends("application/json", [deep]))).rejects.toMatchObject({ type: "invalid-value" });
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(5_000);
  });

  it.each([
    ["pairs", "a&".repeat(700_000)],
    ["names", Array.from({ length: 150_000 }, (_, at) => `a${at}=1`).join("&")],
    ["brackets", `a${"[b]".repeat(500_000)}=1`],
    ["lists of objects", "a[][b]=1&".repeat(150_000)],
    ["escapes", "%5B%41=%42&".repeat(130_000)],
  ])("refuses many %s of a form in bounded time", async (_what, text) => {
    const began = process.cpuUsage();
    await expect(read(sends("application/x-www-form-urlencoded", [Buffer.from(text)]))).rejects.toMatchObject({
      type: "invalid-value",
    });
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(10_000);
  });

  it.each(["10", "1000000", "999999999999"])("refuses a body shorter than its length %s", async (length) => {
    const headers = { "content-type": "application/json", "content-length": length };
    const request = Object.assign(new Readable({ read() {} }), { headers });
    const refused = expect(read(request)).rejects.toMatchObject({ name: "CallerError" });
    request.push("[1,2");
    // Node closes a request whose connection ends before its length.
    request.destroy(new RangeError("aborted"));
    await refused;
  });

  it("aborts a slow body, however long it goes on", async () => {
    const clock = createFakeClock();
    const request = Object.assign(new Readable({ read() {} }), {
      headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
    });
    const refused = expect(read(request, clock)).rejects.toThrow("too slowly");
    for (let seconds = 0; seconds < 31; seconds++) {
      request.push("1");
      await clock.advance(1_000);
    }
    await refused;
    expect(clock.pendingTimers()).toBe(0);
  });
});
