import { readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type BlobStore, createFileBlobStore } from "../../../src/sync/files/blob-store.ts";
import { requestFiles, SITE_FILE_REQUESTS } from "../../../src/sync/files/file-requests.ts";
import { createFileTransfer, type FileTransfer } from "../../../src/sync/files/file-transfer.ts";
import { type FileChunk, type Frame, SYNC_LIMITS } from "../../../src/sync/protocol/frames.ts";
import { getRecord } from "../../../src/sync/storage/transaction-program.ts";
import { createMemoryBlobStore, sha256Of } from "../../sim/memory-blob-store.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const LIMIT = { ...SYNC_LIMITS, fileChunkBytes: 10, fileChunksPerRequest: 2 };
const BYTES = Buffer.from("A bell that nobody hears is no bell at all.");
const SHA = sha256Of(BYTES);

describe("file transfer", () => {
  let store: MemoryStore;
  let sent: Frame[];
  let bad: string[];
  beforeEach(() => {
    store = createMemoryStore(CATALOGUE);
    [sent, bad] = [[], []];
    store.perform(() =>
      requestFiles(SITE_FILE_REQUESTS, [{ sha256: SHA, size: BYTES.length }], { holder: "", rank: 1 }),
    );
  });
  const transferOf = (blobs: BlobStore): FileTransfer =>
    createFileTransfer({
      ...{ blobs, of: SITE_FILE_REQUESTS, holder: "", limits: LIMIT, send: (frame: Frame) => sent.push(frame) },
      store: { transact: async (work) => store.perform(work), read: async (work) => store.perform(work) },
      onBadFile: (sha256) => bad.push(sha256),
    });
  const state = () => store.perform(() => getRecord(SITE_FILE_REQUESTS, SHA))?.state;
  /** Both ends talk until nobody says anything, or until so many chunks came. */
  const talk = async (to: FileTransfer, from: FileTransfer, most = 100): Promise<void> => {
    for (let came = 0; sent.length > 0 && came < most; ) {
      const frame = sent.shift() as Frame;
      if (frame.t === "need") await from.handleRequest(frame.sha256, frame.from);
      if (frame.t === "chunk") await to.handleChunk(frame);
      if (frame.t === "chunk") came += 1;
    }
  };

  it("resumes after a disconnect, and makes a file available once its hash is verified", async () => {
    const folder = join(makeTempDir(), "files");
    const cloud = createMemoryBlobStore();
    cloud.add(BYTES);
    const first = transferOf(createFileBlobStore(folder));
    await first.requestNext();
    await talk(first, transferOf(cloud), 3);
    expect(state()).toBe("wanted");

    sent = [];
    const blobs = createFileBlobStore(folder);
    const second = transferOf(blobs);
    await second.requestNext();
    expect(sent).toEqual([{ t: "need", sha256: SHA, from: 30 }]);
    await talk(second, transferOf(cloud));
    expect(state()).toBe("have");
    expect(Buffer.from((await blobs.read(SHA, 0, 1_000)) ?? []).toString()).toBe(BYTES.toString());
    expect(readdirSync(folder)).toEqual([SHA.slice(0, 2)]);
  });

  it("refuses wrong content and stops fetching it", async () => {
    const folder = join(makeTempDir(), "files");
    await mkdir(join(folder, SHA.slice(0, 2)), { recursive: true });
    await writeFile(join(folder, SHA.slice(0, 2), SHA), BYTES.toString().toUpperCase());
    const blobs = createMemoryBlobStore();
    const site = transferOf(blobs);
    await site.requestNext();
    await talk(site, transferOf(createFileBlobStore(folder)));
    expect([state(), bad, await blobs.has(SHA)]).toEqual(["bad", [SHA], false]);
  });

  it("requests absent files again, those of commands first", async () => {
    const site = transferOf(createMemoryBlobStore());
    await site.requestNext();
    await talk(site, transferOf(createMemoryBlobStore()));
    expect(state()).toBe("absent");
    const urgent = sha256Of(Buffer.from("urgent"));
    store.perform(() => requestFiles(SITE_FILE_REQUESTS, [{ sha256: urgent, size: 6 }], { holder: "", rank: 0 }));
    await transferOf(createMemoryBlobStore()).requestNext();
    expect(sent.map((frame) => (frame as FileChunk).sha256)).toEqual([urgent, SHA]);
  });
});
