import type { DownPage, Wire } from "../frames.ts";
import type { TurnQueue } from "../turn-queue.ts";

/** Pages that wait for their turn: what came while others were stored, is stored together. */
export interface PageQueue {
  add(wire: Wire, page: DownPage): void;
  /** What comes now has its turn after those that wait. */
  close(): void;
}

/** Pages that are stored in one transaction. own choice: some ms */
const PAGES = 4;

/** Makes it; `store` has all that wait in order, at most four. */
export function createPageQueue(
  turns: Pick<TurnQueue, "add">,
  store: (wire: Wire, pages: readonly DownPage[]) => Promise<void>,
): PageQueue {
  let last: { wire: Wire; pages: DownPage[] } | null = null;
  return {
    add(wire, page) {
      if (last?.wire === wire && last.pages.length < PAGES) return void last.pages.push(page);
      const added = { wire, pages: [page] };
      last = added;
      turns.add(() => {
        if (last === added) last = null;
        return store(wire, added.pages);
      });
    },
    close() {
      last = null;
    },
  };
}
