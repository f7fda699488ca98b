import type { BrowserClock } from "./browser-clock.ts";

/** What is removed unless somebody takes it back. */
export interface PendingRemoval {
  /** Id of the row. */
  id: string;
  /** Removes it; `leaving` when the page is about to go, so that the request must outlive it. Rejects with what the API says. */
  run(leaving: boolean): Promise<void>;
  /** It could not be removed. */
  onFault(error: unknown): void;
}

/** Rows on their way out. */
export interface PendingRemovals {
  /** Removes after a while; until then the row is only out of sight. */
  plan(removal: PendingRemoval): void;
  undo(id: string): void;
  /** Ids of rows that are not to be shown: planned, or removed. A new set whenever it changes. */
  gone(): ReadonlySet<string>;
  onChange(fn: () => void): () => void;
}

/** Time to take a removal back. @source console.md, Manners */
export const UNDO_MS = 10_000;

/**
 * Makes the list of removals. own choice: the row stays on the appliance until the time is over. To remove it at once and
 * make it anew would lose its id, and with that whatever names it. When the page goes earlier, what is planned is removed
 * on the way out, since that was asked for; when the browser dies, nothing is lost.
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
