import type { PriorityTaskQueue } from "../../lib/priority-task-queue.ts";
import type { DownstreamPage, FrameTransport } from "../protocol/frames.ts";

/** Batches pages that arrive while others are being stored. */
export interface PageBatcher {
  add(wire: FrameTransport, page: DownstreamPage): void;
  /** Later pages go into a new task. */
  closeBatch(): void;
}

/** @source docs/decisions/0300-sync-limits.md */
const PAGES_PER_TRANSACTION = 4;

/** `store` is called with up to four pages in order. */
export function createPageBatcher(
  tasks: Pick<PriorityTaskQueue, "add">,
  store: (wire: FrameTransport, pages: readonly DownstreamPage[]) => Promise<void>,
): PageBatcher {
  let last: { wire: FrameTransport; pages: DownstreamPage[] } | null = null;
  return {
    add(wire, page) {
      if (last?.wire === wire && last.pages.length < PAGES_PER_TRANSACTION) return void last.pages.push(page);
      const added = { wire, pages: [page] };
      last = added;
      tasks.add(() => {
        if (last === added) last = null;
        return store(wire, added.pages);
      });
    },
    closeBatch() {
      last = null;
    },
  };
}
