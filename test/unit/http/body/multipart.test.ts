import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readMultipart } from "../../../../src/http/body/multipart.ts";
import { type FileFieldData, file } from "../../../../src/schema/field.ts";
import type { UploadedFile } from "../../../../src/schema/uploaded-file.ts";
import { createFileStore } from "../../../../src/store/file-store.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";

const dataDir = makeTempDir();
const files = createFileStore(dataDir);
const FIELDS = new Map<string, FileFieldData>([["image", file("Any file.", ["*/*"], { maxBytes: 200_000 })]]);

/** Bytes on their way from a sender that sends on until it is cut off. */
function sender(pieces: Iterable<Buffer>, boundary = "b"): Readable {
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}`, "transfer-encoding": "chunked" };
  return Object.assign(Readable.from(pieces, { objectMode: false }), { headers });
}

function* inPieces(body: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}

function readFrom(request: Readable, clock = createFakeClock()) {
  return readMultipart(request as IncomingMessage, FIELDS, { clock, files });
}

async function read(body: string, size = 7): Promise<Record<string, unknown>> {
  const { value, uploads } = await readFrom(sender(inPieces(Buffer.from(body, "latin1"), size)));
  for (const upload of uploads) files.release(upload, false);
  return value;
}

function stored(): string[] {
  const folder = join(dataDir, "files");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [entry.name] : [],
  );
}

const part = (head: string, content: string) => `--b\r\n${head}\r\n\r\n${content}\r\n`;
const named = (name: string, content: string) => part(`Content-Disposition: form-data; name="${name}"`, content);
const upload = (content: string, name = "image", fileName = "a.bin") =>
  part(`Content-Disposition: form-data; name="${name}"; filename="${fileName}"`, content);

describe("multipart", () => {
  it("stores any bytes in any chunks", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 400 }), async (bytes, size) => {
        const content = Buffer.from(bytes).toString("latin1");
        fc.pre(!content.includes("\r\n--b"));
        const { uploads } = await readFrom(
          sender(inPieces(Buffer.from(`${upload(content)}--b--\r\n`, "latin1"), size)),
        );
        const [{ file }] = uploads as [UploadedFile];
        expect(await readFile(files.pathOf(file))).toEqual(Buffer.from(bytes));
        files.release(uploads[0] as UploadedFile, false);
      }),
      { numRuns: 60 },
    );
  });

  it("keeps order, nests names and leaves escapes as they are", async () => {
    const body = `${named("a[x]", "1&2=%41")}${named("ids[]", "x+y")}${named("ids[]", "")}${named("ids[]", "\xc3\xa9")}--b--`;
    expect(await read(body)).toEqual({ a: { x: "1&2=%41" }, ids: ["x+y", "", "é"] });
  });

  it("distinguishes strings and files by the file name", async () => {
    const typed = part('Content-Disposition: form-data; name="t"\r\nContent-Type: text/plain', "text");
    const body = `${typed}${upload("bytes", "image", 'C:\\x\\q"q.png')}${upload("", "other")}--b--\r\n`;
    expect(await read(body)).toEqual({ t: "text", image: { file: expect.objectContaining({ size: 5 }) } });
    expect(await read(`${upload("", "image", "")}${named("t", "x")}--b--\r\n`)).toEqual({ t: "x" });
  });

  it("skips preamble and epilogue", async () => {
    expect(await read(`hello\r\n${named("a", "1")}--b--\r\nepilogue`)).toEqual({ a: "1" });
  });

  it.each([
    ["nothing", ""],
    ["no end", named("a", "1")],
    ["an end without its dashes", `${named("a", "1")}--b`],
    ["a boundary at the end", `${named("a", "1")}--b\r\n`],
    ["no boundary at all", "hello"],
    ["a part without name", `${part("Content-Disposition: form-data", "x")}--b--`],
    [
      "an unknown encoding",
      `${part('Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: x', "")}--b--`,
    ],
    ["a part without name before a file", `${part("Content-Disposition: form-data", "x")}${upload("2")}--b--`],
    ["broken UTF-8", `${named("a", "\xff")}--b--`],
    ["a file twice", `${upload("1")}${upload("1")}--b--`],
    ["a file cut off", upload("1".repeat(100_000))],
    ["a file before a part cut off", `${upload("1")}${named("a", "1")}`],
    ["a prototype", `${named("__proto__", "1")}--b--`],
  ])("refuses %s and keeps no file", async (_what, body) => {
    const before = stored();
    await expect(read(body, 1_000)).rejects.toMatchObject({ name: "CallerError", type: "invalid-value" });
    expect(stored()).toEqual(before);
  });

  it("waits for the disk and continues after a file of any size", async () => {
    const sizes = fc.tuple(
      fc.integer({ max: 70_000, min: 0 }),
      fc.integer({ max: 30_000, min: 0 }),
      fc.integer({ max: 70_000, min: 500 }),
    );
    await fc.assert(
      fc.asyncProperty(sizes, async ([size, behind, piece]) => {
        const body = `${upload("1".repeat(size))}${named("a", "2".repeat(behind))}--b--\r\n`;
        expect(await read(body, piece)).toEqual({
          image: { file: expect.objectContaining({ size }) },
          a: "2".repeat(behind),
        });
      }),
      { numRuns: 60, examples: [[[16_384, 30_000, 8_192]], [[24_500, 30_000, 70_000]], [[65_300, 30_000, 65_536]]] },
    );
  });

  it("responds to random input without an internal error", async () => {
    const file = 'Content-Disposition: form-data; name="image"; filename="x"';
    const text = 'Content-Disposition: form-data; name="a"';
    const encoded = "Content-Transfer-Encoding: base64";
    const scraps = [
      "--b",
      "--b--",
      "\r\n",
      "\r\n--b\r\n",
      "\r\n\r\n",
      file,
      text,
      encoded,
      "name=",
      ":",
      "x",
      "\r",
      "\xff",
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...scraps), { maxLength: 30 }),
        fc.integer({ min: 1, max: 99 }),
        async (all, size) => {
          const failure = await read(`--b\r\n${all.join("")}`, size).then(
            () => null,
            (error: unknown) => error,
          );
          if (failure) expect(failure).toMatchObject({ name: "CallerError" });
        },
      ),
      { numRuns: 500 },
    );
    expect(stored()).toEqual([]);
  });

  it("refuses a file that is too large while it arrives", async () => {
    let sent = 0;
    const endless = (function* () {
      yield Buffer.from(upload("").slice(0, -2));
      for (; sent < 200; sent++) yield Buffer.alloc(65_536);
    })();
    const fault = { type: "too-large", faults: [expect.objectContaining({ field: "image" })] };
    await expect(readFrom(sender(endless))).rejects.toMatchObject(fault);
    expect(sent).toBeLessThan(100);
    expect(stored()).toEqual([]);
  });

  it("refuses long part headers", async () => {
    const head = `Content-Disposition: form-data; name=a; ${'filename="'.repeat(40_000)}x`;
    const began = process.cpuUsage();
    await expect(read(`${part(head, "x")}--b--`, 65_536)).rejects.toMatchObject({ type: "invalid-value" });
    await expect(read(part(`X: ${"x".repeat(40_000)}`, "x").repeat(2), 65_536)).rejects.toMatchObject({
      type: "invalid-value",
    });
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(1_000);
  });

  /** A head, then the same bytes again and again until the reader stops; `sent` counts them. */
  function endless(head: string, again: string) {
    const counted = { sent: 0 };
    const pieces = (function* () {
      yield Buffer.from(head, "latin1");
      const piece = Buffer.from(again.repeat(Math.ceil(65_536 / again.length)), "latin1");
      for (; counted.sent < 400_000_000; counted.sent += piece.length) yield piece;
    })();
    return { counted, request: sender(pieces) };
  }

  it.each([
    ["text parts", "", named("a", "x"), 4_000_000],
    ["text parts without content", "", named("a", ""), 4_000_000],
    ["parts that are not form data", "", part("X: y", "x"), 4_000_000],
    ["parts without headers", "", "--b\r\n\r\n\r\n", 4_000_000],
    ["boundaries", "", "--b\r\n", 4_000_000],
    ["unwanted files", "", upload("x".repeat(1_000), "other"), 80_000_000],
    ["empty unwanted files", "", upload("", "other"), 4_000_000],
    ["headers of one part", "--b\r\n", "X: y\r\n", 1_000_000],
    ["one header", "--b\r\nX: ", "x", 1_000_000],
    ["bytes before the first part", "", "x\r\n", 1_000_000],
    ["bytes of one text", named("a", "").slice(0, -2), "x", 4_000_000],
    ["bytes of one unwanted file", upload("", "other").slice(0, -2), "x", 80_000_000],
    ["bytes of one part that is not form data", part("X: y", "").slice(0, -2), "x", 1_000_000],
    ["almost boundaries", named("a", "").slice(0, -2), "\r\n--", 4_000_000],
    ["line breaks", named("a", "").slice(0, -2), "\r\n", 4_000_000],
  ])("stops reading endless %s", async (_what, head, again, most) => {
    const { counted, request } = endless(head, again);
    const began = process.cpuUsage();
    const refused = { name: "CallerError", type: expect.stringMatching(/^(invalid-value|too-large)$/) };
    await expect(readFrom(request)).rejects.toMatchObject(refused);
    expect(counted.sent).toBeLessThan(most);
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(10_000);
    expect(stored()).toEqual([]);
  });

  it("accepts the longest lists and a file between them", async () => {
    const ids = Array.from({ length: 5_000 }, (_, at) => `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`);
    const half = ids.slice(0, 2_500).map((id) => named("ids[]", id));
    const rest = ids.slice(2_500).map((id) => named("ids[]", id));
    const body = `${half.join("")}${upload("1".repeat(150_000))}${rest.join("")}--b--\r\n`;
    expect(await read(body, 65_536)).toEqual({ ids, image: { file: expect.objectContaining({ size: 150_000 }) } });
  });

  it.each(["base64", "quoted-printable", "gzip"])("refuses the transfer encoding %s by its name", async (encoding) => {
    const head = `Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: ${encoding}`;
    await expect(read(`${part(head, "YQ==")}--b--`)).rejects.toThrow("Content-Transfer-Encoding");
  });

  it.each(["", "; boundary", "; boundary=", `; boundary=${"b".repeat(5_000)}`])(
    "refuses the boundary %j",
    async (boundary) => {
      const request = sender([Buffer.from(`${named("a", "1")}--b--\r\n`)]);
      Object.assign(request, { headers: { "content-type": `multipart/form-data${boundary}` } });
      await expect(readFrom(request)).rejects.toMatchObject({ type: "invalid-value" });
    },
  );

  it("responds to a refused file although the client sends nothing more", async () => {
    const clock = createFakeClock();
    const request = Object.assign(new Readable({ read() {} }), {
      headers: { "content-type": "multipart/form-data; boundary=b", "transfer-encoding": "chunked" },
    });
    const refused = expect(readFrom(request, clock)).rejects.toMatchObject({ type: "invalid-value" });
    request.push(`${upload("1")}${upload("2")}${upload("3")}${named("a", "1")}`);
    await refused;
    expect(clock.pendingTimers()).toBe(0);
    expect(stored()).toEqual([]);
  });

  it("aborts a stalled upload and keeps no file", async () => {
    const clock = createFakeClock();
    const request = Object.assign(new Readable({ read() {} }), {
      headers: { "content-type": "multipart/form-data; boundary=b", "transfer-encoding": "chunked" },
    });
    const refused = expect(readFrom(request, clock)).rejects.toMatchObject({ type: "invalid-value" });
    request.push(upload("1".repeat(5_000)).slice(0, -2));
    for (let times = 0; times < 3; times++) await clock.advance(30_000);
    await refused;
    expect(clock.pendingTimers()).toBe(0);
    expect(request.destroyed).toBe(false);
    expect(stored()).toEqual([]);
  });

  it.each([undefined, new RangeError("cut")])("reports a disconnected client: %s", async (reason) => {
    const request = Object.assign(new Readable({ read() {} }), {
      headers: { "content-type": "multipart/form-data; boundary=b", "transfer-encoding": "chunked" },
    });
    const refused = expect(readFrom(request)).rejects.toMatchObject({ type: "invalid-value" });
    request.push(upload("1".repeat(5_000)).slice(0, -2));
    request.destroy(reason);
    await refused;
    expect(stored()).toEqual([]);
  });
});
