import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openZipArchive } from "../../../src/importers/zip-archive.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { zipFile } from "../../support/zip-file.ts";

const ROWS = "sourcedId,title\n1,Physics\n".repeat(200);
/** Offsets in the local header, which comes first, and in the entry of the directory. */
const LOCAL = { method: 8, compressedSize: 18, size: 22, nameLength: 26 };
const CENTRAL = { method: 10, checksum: 16, compressedSize: 20, size: 24 };

/** Reads `classes.csv` of an archive after `damage`. */
async function readDamaged(damage: (archive: Buffer, central: number) => void): Promise<string> {
  const bytes = zipFile({ "classes.csv": ROWS });
  damage(bytes, bytes.indexOf("PK\x01\x02"));
  const path = join(makeTempDir(), "roster.zip");
  writeFileSync(path, bytes);
  const archive = await openZipArchive(path);
  try {
    const parts: Uint8Array[] = [];
    for await (const part of (await archive.open("classes.csv")) ?? []) parts.push(part);
    return Buffer.concat(parts).toString();
  } finally {
    archive.close();
  }
}

describe("an archive", () => {
  it("is read as it was written", async () => {
    expect(await readDamaged(() => undefined)).toBe(ROWS);
  });

  it.each<[string, (archive: Buffer, central: number) => void]>([
    ["a changed byte", (archive) => archive.writeUInt8(0x58, 200)],
    ["a wrong checksum", (archive, at) => archive.writeUInt32LE(1, at + CENTRAL.checksum)],
    ["data that are not deflated", (archive, at) => archive.writeUInt16LE(8, at + CENTRAL.method)],
    ["an unknown method", (archive, at) => archive.writeUInt16LE(99, at + CENTRAL.method)],
    ["encrypted data", (archive, at) => archive.writeUInt16LE(1, at + 8)],
    ["a size beyond the file", (archive, at) => archive.writeUInt32LE(900_000, at + CENTRAL.compressedSize)],
    ["different sizes", (archive, at) => archive.writeUInt32LE(3, at + CENTRAL.size)],
    ["a damaged local header", (archive) => archive.writeUInt32LE(0, 0)],
    ["a name that covers the data", (archive) => archive.writeUInt16LE(60_000, LOCAL.nameLength)],
    ["an offset beyond the end", (archive, at) => archive.writeUInt32LE(5_000_000, at + 42)],
    ["an impossible name", (archive, at) => archive.write("/../", at + 46)],
  ])("with %s is refused in words", async (_, damage) => {
    await expect(readDamaged(damage)).rejects.toMatchObject({
      type: "invalid-value",
      message: expect.stringMatching(/archive/),
    });
  });
});
