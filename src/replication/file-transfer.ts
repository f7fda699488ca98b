import type { Blobs } from "./blobs.ts";
import type { Chunk, Frame, Limits } from "./frames.ts";
import { nextWanted, noteFile, type WantedFile, wantAbsent } from "./wanted-files.ts";
import type { Collection, WorkStore } from "./work.ts";

/** What fetching files over one connection needs. */
export interface TransferNeeds {
  store: WorkStore;
  blobs: Blobs;
  of: Collection<WantedFile>;
  /** The other end, as `WantedFile` names it. */
  holder: string;
  limits: Limits;
  send(frame: Frame): void;
  /** A file whose bytes are always others than its name says. */
  onBadFile(sha256: string): void;
}

/** Files over one connection, in both directions. Call one thing at a time. */
export interface FileTransfer {
  /** Asks for what is wanted. */
  look(): Promise<void>;
  chunk(frame: Chunk): Promise<void>;
  /** Answers what the other end asks for. */
  need(sha256: string, from: number): Promise<void>;
}

/** Files that are fetched at a time. @source replication.md 6 */
const AT_A_TIME = 2;

/**
 * Fetches files by their content's hash. What arrived stays over cuts and crashes, and the rest is asked for from there;
 * a file is there only once its hash was checked.
 */
export function createFileTransfer({ store, blobs, of, holder, limits, send, onBadFile }: TransferNeeds): FileTransfer {
  const asked = new Map<string, number>();
  let isFirst = true;

  async function look(): Promise<void> {
    if (isFirst) await store.transact(() => wantAbsent(of, holder));
    isFirst = false;
    while (asked.size < AT_A_TIME) {
      const wanted = await store.read(() => nextWanted(of, holder, AT_A_TIME + 1));
      const next = wanted.find(({ sha256 }) => !asked.has(sha256));
      if (!next) return;
      if (await blobs.has(next.sha256)) await store.transact(() => noteFile(of, next.sha256, "have"));
      else await ask(next);
    }
  }

  async function ask({ sha256, size }: Pick<WantedFile, "sha256" | "size">): Promise<void> {
    asked.set(sha256, size);
    send({ t: "need", sha256, from: await blobs.arrived(sha256) });
  }

  async function over(sha256: string, came: "have" | "absent" | "other"): Promise<void> {
    asked.delete(sha256);
    if ((await store.transact(() => noteFile(of, sha256, came))) === "bad") onBadFile(sha256);
    await look();
  }

  return {
    look,
    async chunk({ sha256, at, data, last }) {
      const size = asked.get(sha256);
      if (size === undefined) return;
      if (data === null) return over(sha256, "absent");
      const bytes = Buffer.from(data, "base64");
      const arrived = await blobs.arrived(sha256);
      if (at === arrived) await blobs.append(sha256, at, bytes);
      const now = at === arrived ? arrived + bytes.length : arrived;
      const isOver = now >= size || (bytes.length === 0 && last);
      if (isOver) return over(sha256, (await blobs.settle(sha256)) ? "have" : "other");
      if (last) await ask({ sha256, size });
    },
    async need(sha256, from) {
      for (let turn = 1, at = from; turn <= limits.chunks; turn += 1) {
        const bytes = await blobs.read(sha256, at, limits.chunkBytes);
        const last = !bytes || bytes.length < limits.chunkBytes || turn === limits.chunks;
        send({ t: "chunk", sha256, at, data: bytes && Buffer.from(bytes).toString("base64"), last });
        if (last) return;
        at += bytes.length;
      }
    },
  };
}
