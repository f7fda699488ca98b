import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { createFileStore } from "../../../src/store/file-store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

async function* chunks(...parts: (Buffer | string)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part as string);
}

let folder: string;
beforeEach(() => {
  folder = makeTempDir();
});

describe("file store", () => {
  it("stores files by content with the type detected from the bytes", async () => {
    const files = createFileStore(folder);
    const { file } = await files.put(chunks(PNG.subarray(0, 10), PNG.subarray(10)), {
      fileName: "../../etc/plan\0.txt",
      maxBytes: 1_000,
      types: ["image/png"],
    });
    expect(file).toMatchObject({
      size: PNG.length,
      contentType: "image/png",
      fileName: "plan.txt",
      metadata: { width: 1, height: 1 },
    });
    expect(await files.read(file)).toEqual(PNG);
    const again = await files.put(chunks(PNG), { fileName: "b.png", maxBytes: 1_000, types: ["image/png"] });
    expect(files.pathOf(again.file)).toBe(files.pathOf(file));
  });

  it("shortens long names without splitting characters", async () => {
    const files = createFileStore(folder);
    const fileName = `${"a".repeat(254)}😀.png`;
    const { file } = await files.put(chunks(PNG), { fileName, maxBytes: 1_000, types: ["image/png"] });
    expect(file.fileName).toBe("a".repeat(254));
    expect(() => encodeURIComponent(file.fileName)).not.toThrow();
  });

  it("rejects files with storage-full on a full disk", async () => {
    const files = createFileStore(folder);
    async function* untilFull(): AsyncGenerator<Uint8Array> {
      yield PNG;
      throw Object.assign(new RangeError("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    }
    const putting = files.put(untilFull(), { fileName: "a.png", maxBytes: 1_000, types: ["image/png"] });
    await expect(putting).rejects.toMatchObject({ type: "storage-full" });
  });

  it("deletes incomplete uploads at the next start", async () => {
    const { file } = await createFileStore(folder).put(chunks(PNG), { fileName: "a", maxBytes: 999, types: ["*/*"] });
    const unfinished = join(folder, "files", "arriving-0190");
    writeFileSync(unfinished, "half of");
    const files = createFileStore(folder);
    expect(existsSync(unfinished)).toBe(false);
    expect(await files.read(file)).toEqual(PNG);
  });

  it("deletes released files unless other uploads hold them or they existed before", async () => {
    const files = createFileStore(folder);
    const put = () => files.put(chunks(PNG), { fileName: "a.png", maxBytes: 1_000, types: ["image/png"] });
    const first = await put();
    const second = await put();
    const path = files.pathOf(first.file);
    files.release(first, false);
    expect(existsSync(path)).toBe(true);
    files.release(second, false);
    expect(existsSync(path)).toBe(false);
    files.release(await put(), true);
    expect(existsSync(path)).toBe(true);
    files.release(await put(), false);
    expect(existsSync(path)).toBe(true);
  });

  it.each([
    ["HTML that calls itself PNG", "<html><script>", "unsupported-media-type"],
    ["more bytes than allowed", "x".repeat(2_000), "too-large"],
    ["nothing", "", "unsupported-media-type"],
  ])("rejects files for %s and leaves nothing behind", async (_why, content, type) => {
    const files = createFileStore(folder);
    await expect(
      files.put(chunks(content), { fileName: "a.png", maxBytes: 1_000, types: ["image/png"] }),
    ).rejects.toMatchObject({ type });
    expect(readdirSync(join(folder, "files"))).toEqual([]);
  });

  it("leaves nothing behind when the upload is aborted", async () => {
    const files = createFileStore(folder);
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield PNG;
      throw new RangeError("cut");
    }
    await expect(files.put(broken(), { fileName: "a.png", maxBytes: 1_000, types: ["image/png"] })).rejects.toThrow(
      "cut",
    );
    expect(readdirSync(join(folder, "files"))).toEqual([]);
  });
});
