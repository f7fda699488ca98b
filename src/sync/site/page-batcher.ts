import type { PriorityTaskQueue } from "../../lib/priority-task-queue.ts";
import type { DownstreamPage, FrameTransport } from "../protocol/frames.ts";

/** Pages that wait for their turn: what came while others were stored, is stored together. */
export interface PageBatcher {
  add(wire: FrameTransport, page: DownstreamPage): void;
  /** What comes now has its turn after those that wait. */
  closeBatch(): void;
}

/** Pages that are stored in one transaction. own choice: some ms */
const PAGES_PER_TRANSACTION = 4;

/** Makes it; `store` has all that wait in order, at most four. */
export function createPageBatcher(
  turns: Pick<PriorityTaskQueue, "add">,
  store: (wire: FrameTransport, pages: readonly DownstreamPage[]) => Promise<void>,
): PageBatcher {
  let last: { wire: FrameTransport; pages: DownstreamPage[] } | null = null;
  return {
    add(wire, page) {
      if (last?.wire === wire && last.pages.length < PAGES_PER_TRANSACTION) return void last.pages.push(page);
      const added = { wire, pages: [page] };
      last = added;
      turns.add(() => {
        if (last === added) last = null;
        return store(wire, added.pages);
      });
    },
    closeBatch() {
      last = null;
    },
  };
}
