import type { FileChunk, Frame, SyncLimits } from "../protocol/frames.ts";
import type { Collection, TransactionStore } from "../storage/transaction-program.ts";
import type { BlobStore } from "./blob-store.ts";
import { type FileRequest, nextFileRequests, recordFileResult, retryAbsentFiles } from "./file-requests.ts";

/** What fetching files over one connection needs. */
export interface FileTransferDeps {
  store: TransactionStore;
  blobs: BlobStore;
  of: Collection<FileRequest>;
  /** The other end, as `WantedFile` names it. */
  holder: string;
  limits: SyncLimits;
  send(frame: Frame): void;
  /** A file whose bytes are always others than its name says. */
  onBadFile(sha256: string): void;
}

/** Files over one connection, in both directions. Call one thing at a time. */
export interface FileTransfer {
  /** Asks for what is wanted. */
  requestNext(): Promise<void>;
  handleChunk(frame: FileChunk): Promise<void>;
  /** Answers what the other end asks for. */
  handleRequest(sha256: string, from: number): Promise<void>;
}

/** Files that are fetched at a time. @source replication.md 6 */
const MAX_CONCURRENT_FILES = 2;

/**
 * Fetches files by their content's hash. What arrived stays over cuts and crashes, and the rest is asked for from there;
 * a file is there only once its hash was checked.
 */
export function createFileTransfer({
  store,
  blobs,
  of,
  holder,
  limits,
  send,
  onBadFile,
}: FileTransferDeps): FileTransfer {
  const asked = new Map<string, number>();
  let isFirst = true;

  async function requestNext(): Promise<void> {
    if (isFirst) await store.transact(() => retryAbsentFiles(of, holder));
    isFirst = false;
    while (asked.size < MAX_CONCURRENT_FILES) {
      const wanted = await store.read(() => nextFileRequests(of, holder, MAX_CONCURRENT_FILES + 1));
      const next = wanted.find(({ sha256 }) => !asked.has(sha256));
      if (!next) return;
      if (await blobs.has(next.sha256)) await store.transact(() => recordFileResult(of, next.sha256, "have"));
      else await requestFile(next);
    }
  }

  async function requestFile({ sha256, size }: Pick<FileRequest, "sha256" | "size">): Promise<void> {
    asked.set(sha256, size);
    send({ t: "need", sha256, from: await blobs.partialSize(sha256) });
  }

  async function finish(sha256: string, came: "have" | "absent" | "other"): Promise<void> {
    asked.delete(sha256);
    if ((await store.transact(() => recordFileResult(of, sha256, came))) === "bad") onBadFile(sha256);
    await requestNext();
  }

  return {
    requestNext,
    async handleChunk({ sha256, at, data, last }) {
      const size = asked.get(sha256);
      if (size === undefined) return;
      if (data === null) return finish(sha256, "absent");
      const bytes = Buffer.from(data, "base64");
      const arrived = await blobs.partialSize(sha256);
      if (at === arrived) await blobs.append(sha256, at, bytes);
      const now = at === arrived ? arrived + bytes.length : arrived;
      const isOver = now >= size || (bytes.length === 0 && last);
      if (isOver) return finish(sha256, (await blobs.finalize(sha256)) ? "have" : "other");
      if (last) await requestFile({ sha256, size });
    },
    async handleRequest(sha256, from) {
      for (let turn = 1, at = from; turn <= limits.fileChunksPerRequest; turn += 1) {
        const bytes = await blobs.read(sha256, at, limits.fileChunkBytes);
        const last = !bytes || bytes.length < limits.fileChunkBytes || turn === limits.fileChunksPerRequest;
        send({ t: "chunk", sha256, at, data: bytes && Buffer.from(bytes).toString("base64"), last });
        if (last) return;
        at += bytes.length;
      }
    },
  };
}
