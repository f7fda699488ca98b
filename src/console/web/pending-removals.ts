import type { BrowserClock } from "./browser-clock.ts";

/** A row that is removed unless the user undoes it. */
export interface PendingRemoval {
  /** Id of the row. */
  id: string;
  /** Removes it; `leaving` when the page is about to go, so that the request must outlive it. Rejects with what the API says. */
  run(leaving: boolean): Promise<void>;
  /** It could not be removed. */
  onFault(error: unknown): void;
}

/** Rows with a pending removal. */
export interface PendingRemovals {
  /** Removes after a while; until then the row is only out of sight. */
  plan(removal: PendingRemoval): void;
  undo(id: string): void;
  /** Ids of rows that are not to be shown: planned, or removed. A new set whenever it changes. */
  gone(): ReadonlySet<string>;
  onChange(fn: () => void): () => void;
}

/** Time to undo a removal. @source docs/decisions/0041-console.md */
export const UNDO_MS = 10_000;

/**
 * Creates the list. The row stays on the appliance until the delay is over: deleting and recreating it would change
 * its id and break references. When the page is closed earlier, pending removals are executed; when the browser
 * crashes, nothing is removed.
 */
export function createPendingRemovals(
  clock: BrowserClock,
  page: Pick<EventTarget, "addEventListener">,
): PendingRemovals {
  const planned = new Map<string, { removal: PendingRemoval; timer: { cancel(): void } }>();
  const listeners = new Set<() => void>();
  let gone: ReadonlySet<string> = new Set();
  const show = (change: (ids: Set<string>) => void): void => {
    const next = new Set(gone);
    change(next);
    gone = next;
    for (const listener of listeners) listener();
  };
  const run = (id: string, leaving: boolean): void => {
    const known = planned.get(id);
    if (!known) return;
    planned.delete(id);
    known.timer.cancel();
    known.removal.run(leaving).catch((error) => {
      show((ids) => ids.delete(id));
      known.removal.onFault(error);
    });
  };
  page.addEventListener("pagehide", () => {
    for (const id of [...planned.keys()]) run(id, true);
  });
  return {
    plan(removal) {
      planned.set(removal.id, { removal, timer: clock.after(UNDO_MS, () => run(removal.id, false)) });
      show((ids) => ids.add(removal.id));
    },
    undo(id) {
      planned.get(id)?.timer.cancel();
      if (planned.delete(id)) show((ids) => ids.delete(id));
    },
    gone: () => gone,
    onChange(fn) {
      listeners.add(fn);
      return () => void listeners.delete(fn);
    },
  };
}
