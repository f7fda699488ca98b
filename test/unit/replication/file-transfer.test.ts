import { readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type Blobs, createBlobFolder } from "../../../src/replication/blobs.ts";
import { createFileTransfer, type FileTransfer } from "../../../src/replication/file-transfer.ts";
import { type Chunk, type Frame, LIMITS } from "../../../src/replication/frames.ts";
import { SITE_FILES, wantFiles } from "../../../src/replication/wanted-files.ts";
import { get } from "../../../src/replication/work.ts";
import { createMemoryBlobs, nameOf } from "../../sim/memory-blobs.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const LIMIT = { ...LIMITS, chunkBytes: 10, chunks: 2 };
const BYTES = Buffer.from("A bell that nobody hears is no bell at all.");
const SHA = nameOf(BYTES);

describe("files by their content", () => {
  let store: MemoryStore;
  let sent: Frame[];
  let bad: string[];
  beforeEach(() => {
    store = createMemoryStore(CATALOGUE);
    [sent, bad] = [[], []];
    store.perform(() => wantFiles(SITE_FILES, [{ sha256: SHA, size: BYTES.length }], { holder: "", rank: 1 }));
  });
  const transferOf = (blobs: Blobs): FileTransfer =>
    createFileTransfer({
      ...{ blobs, of: SITE_FILES, holder: "", limits: LIMIT, send: (frame: Frame) => sent.push(frame) },
      store: { transact: async (work) => store.perform(work), read: async (work) => store.perform(work) },
      onBadFile: (sha256) => bad.push(sha256),
    });
  const state = () => store.perform(() => get(SITE_FILES, SHA))?.state;
  /** Both ends talk until nobody says anything, or until so many chunks came. */
  const talk = async (to: FileTransfer, from: FileTransfer, most = 100): Promise<void> => {
    for (let came = 0; sent.length > 0 && came < most; ) {
      const frame = sent.shift() as Frame;
      if (frame.t === "need") await from.need(frame.sha256, frame.from);
      if (frame.t === "chunk") await to.chunk(frame);
      if (frame.t === "chunk") came += 1;
    }
  };

  it("go on after a cut where they ended, and are there once their hash was checked", async () => {
    const folder = join(makeTempDir(), "files");
    const cloud = createMemoryBlobs();
    cloud.add(BYTES);
    const first = transferOf(createBlobFolder(folder));
    await first.look();
    await talk(first, transferOf(cloud), 3);
    expect(state()).toBe("wanted");

    sent = [];
    const blobs = createBlobFolder(folder);
    const second = transferOf(blobs);
    await second.look();
    expect(sent).toEqual([{ t: "need", sha256: SHA, from: 30 }]);
    await talk(second, transferOf(cloud));
    expect(state()).toBe("have");
    expect(Buffer.from((await blobs.read(SHA, 0, 1_000)) ?? []).toString()).toBe(BYTES.toString());
    expect(readdirSync(folder)).toEqual([SHA.slice(0, 2)]);
  });

  it("are refused when their bytes are others, and not fetched for ever", async () => {
    const folder = join(makeTempDir(), "files");
    await mkdir(join(folder, SHA.slice(0, 2)), { recursive: true });
    await writeFile(join(folder, SHA.slice(0, 2), SHA), BYTES.toString().toUpperCase());
    const blobs = createMemoryBlobs();
    const site = transferOf(blobs);
    await site.look();
    await talk(site, transferOf(createBlobFolder(folder)));
    expect([state(), bad, await blobs.has(SHA)]).toEqual(["bad", [SHA], false]);
  });

  it("are asked for again when they were not there, and those of commands first", async () => {
    const site = transferOf(createMemoryBlobs());
    await site.look();
    await talk(site, transferOf(createMemoryBlobs()));
    expect(state()).toBe("absent");
    const urgent = nameOf(Buffer.from("urgent"));
    store.perform(() => wantFiles(SITE_FILES, [{ sha256: urgent, size: 6 }], { holder: "", rank: 0 }));
    await transferOf(createMemoryBlobs()).look();
    expect(sent.map((frame) => (frame as Chunk).sha256)).toEqual([urgent, SHA]);
  });
});
