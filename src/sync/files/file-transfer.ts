import type { FileChunk, Frame, SyncLimits } from "../protocol/frames.ts";
import type { Collection, TransactionStore } from "../storage/transaction-program.ts";
import type { BlobStore } from "./blob-store.ts";
import { type FileRequest, nextFileRequests, recordFileResult, retryAbsentFiles } from "./file-requests.ts";

export interface FileTransferDeps {
  store: TransactionStore;
  blobs: BlobStore;
  of: Collection<FileRequest>;
  /** The other end, as in `FileRequest.holder`. */
  holder: string;
  limits: SyncLimits;
  send(frame: Frame): void;
  /** Called for a file whose content repeatedly did not match its hash. */
  onBadFile(sha256: string): void;
}

/** File transfer over one connection, in both directions. Calls must not overlap. */
export interface FileTransfer {
  /** Requests the next files. */
  requestNext(): Promise<void>;
  handleChunk(frame: FileChunk): Promise<void>;
  /** Serves a request of the other end. */
  handleRequest(sha256: string, from: number): Promise<void>;
}

/** Concurrent downloads. @source docs/decisions/0040-replication.md, Section 6 */
const MAX_CONCURRENT_FILES = 2;

/**
 * Fetches files by hash. Received bytes survive disconnects and crashes, and a transfer resumes after them; a file is
 * available only once its hash is verified.
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
  const pending = new Map<string, number>();
  let isFirst = true;

  async function requestNext(): Promise<void> {
    if (isFirst) await store.transact(() => retryAbsentFiles(of, holder));
    isFirst = false;
    while (pending.size < MAX_CONCURRENT_FILES) {
      const wanted = await store.read(() => nextFileRequests(of, holder, MAX_CONCURRENT_FILES + 1));
      const next = wanted.find(({ sha256 }) => !pending.has(sha256));
      if (!next) return;
      if (await blobs.has(next.sha256)) await store.transact(() => recordFileResult(of, next.sha256, "have"));
      else await requestFile(next);
    }
  }

  async function requestFile({ sha256, size }: Pick<FileRequest, "sha256" | "size">): Promise<void> {
    pending.set(sha256, size);
    send({ t: "need", sha256, from: await blobs.partialSize(sha256) });
  }

  async function finish(sha256: string, result: "have" | "absent" | "other"): Promise<void> {
    pending.delete(sha256);
    if ((await store.transact(() => recordFileResult(of, sha256, result))) === "bad") onBadFile(sha256);
    await requestNext();
  }

  return {
    requestNext,
    async handleChunk({ sha256, at, data, last }) {
      const size = pending.get(sha256);
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
      for (let count = 1, at = from; count <= limits.fileChunksPerRequest; count += 1) {
        const bytes = await blobs.read(sha256, at, limits.fileChunkBytes);
        const last = !bytes || bytes.length < limits.fileChunkBytes || count === limits.fileChunksPerRequest;
        send({ t: "chunk", sha256, at, data: bytes && Buffer.from(bytes).toString("base64"), last });
        if (last) return;
        at += bytes.length;
      }
    },
  };
}
