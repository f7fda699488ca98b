import type { Catalogue } from "../../src/schema/catalogue.ts";
import type { Disk, ExecutedOperation } from "./machine.ts";
import { createMemoryStore, type MemoryStore } from "./memory-store.ts";

/** A disk in memory; a kill takes nothing from it that was committed. */
export function createMemoryDisk(catalogue: Catalogue, store: MemoryStore = createMemoryStore(catalogue)): Disk {
  const disk: Disk = {
    async transact(work, committed) {
      const performed: ExecutedOperation[] = [];
      const value = store.perform(work, performed);
      committed?.(performed);
      return value;
    },
    peek: (work) => store.perform(work),
    reopened: () => disk,
    copy: () => createMemoryDisk(catalogue, store.copy()),
    close() {},
  };
  return disk;
}
