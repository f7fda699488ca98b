import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundaryOf, readMultipart } from "../../../src/rest/multipart.ts";

interface Read {
  name: string;
  fileName: string | null;
  content: string;
}

async function* pieces(body: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}

async function read(body: string, size = 7): Promise<Read[]> {
  const reader = readMultipart(pieces(Buffer.from(body, "latin1"), size), "b");
  const parts: Read[] = [];
  for (let part = await reader.next(); part; part = await reader.next()) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of part.bytes) chunks.push(chunk);
    parts.push({ name: part.name, fileName: part.fileName, content: Buffer.concat(chunks).toString("latin1") });
  }
  return parts;
}

const part = (head: string, content: string) => `--b\r\n${head}\r\n\r\n${content}\r\n`;
const named = (name: string, content: string) => part(`Content-Disposition: form-data; name="${name}"`, content);

describe("multipart", () => {
  it("reads whatever bytes in whatever pieces", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 60 })),
        fc.integer({ min: 1, max: 80 }),
        async (all, size) => {
          const contents = all
            .map((bytes) => Buffer.from(bytes).toString("latin1"))
            .filter((text) => !text.includes("\r\n--b"));
          const body = `${contents.map((content, at) => named(`n${at}`, content)).join("")}--b--\r\n`;
          expect(await read(body, size)).toEqual(
            contents.map((content, at) => ({ name: `n${at}`, fileName: null, content })),
          );
        },
      ),
    );
  });

  it.each([
    ["form-data; name=plain", "plain", null],
    ['form-data; name="a;b=c"; filename="x.png"', "a;b=c", "x.png"],
    ['FORM-DATA; NAME="a"; FILENAME=""', "a", ""],
    ['form-data; name="a%22b"; filename="q\\"q.png"', 'a"b', 'q"q.png'],
    [`form-data; name="a"; filename="x"; filename*=UTF-8''n%C3%A9.png`, "a", "né.png"],
  ])("understands %s", async (disposition, name, fileName) => {
    const parts = await read(`${part(`content-disposition: ${disposition}`, "x")}--b--`);
    expect(parts).toEqual([{ name, fileName, content: "x" }]);
  });

  it("skips a preamble and parts that nobody read", async () => {
    const body = `hello\r\n${named("a", "1")}${named("b", "2")}--b--\r\nepilogue`;
    const reader = readMultipart(pieces(Buffer.from(body), 5), "b");
    expect((await reader.next())?.name).toBe("a");
    expect((await reader.next())?.name).toBe("b");
    expect(await reader.next()).toBeNull();
    expect(await reader.next()).toBeNull();
  });

  it.each([
    ["nothing", ""],
    ["no end", named("a", "1")],
    ["no boundary at all", "hello"],
    ["another kind of part", part("Content-Disposition: attachment; name=a", "x")],
    ["an encoded part", part("Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64", "eA==")],
  ])("refuses %s", async (_what, body) => {
    await expect(read(body)).rejects.toMatchObject({ name: "CallerError" });
  });

  it("takes the boundary from the content type", () => {
    expect(boundaryOf('multipart/form-data; boundary="a b"')).toBe("a b");
    expect(boundaryOf("multipart/form-data; charset=utf-8; Boundary=ab")).toBe("ab");
    expect(() => boundaryOf("multipart/form-data")).toThrow();
    expect(() => boundaryOf(`multipart/form-data; boundary=${"x".repeat(300)}`)).toThrow();
  });
});
