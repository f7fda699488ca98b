import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
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
