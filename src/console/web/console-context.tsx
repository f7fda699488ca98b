import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { BugError } from "../../lib/errors.ts";
import type { ApiClient, Dependent } from "./api/client.ts";
import type { FeedState } from "./api/live-feed.ts";
import type { BrowserClock } from "./browser-clock.ts";
import type { PendingRemovals } from "./pending-removals.ts";

/** What every page may use. */
export interface Console {
  client: ApiClient;
  clock: BrowserClock;
  feed: FeedState;
  removals: PendingRemovals;
  /** Says something for a few seconds; with `undo`, offers to take it back. */
  notify(message: string, undo?: () => void): void;
  /** Asks whether something may be removed or changed although others use it. */
  confirmDetach(dependents: readonly Dependent[], name?: string): Promise<boolean>;
  /** Reads the session again, and everything else with it: somebody has logged in or out. */
  refreshSession(): void;
  /** Who works here, also while the session has expired; null if that is not known. */
  userId: string | null;
  acting: ActingDomain;
}

/** The domain that this window acts in; another window may act in another. */
export interface ActingDomain {
  /** Null for the user's first one. */
  domainId: string | null;
  /** Switches the acting domain; everything shown is read again. */
  actIn(domainId: string | null): void;
}

const ConsoleContext = createContext<Console | null>(null);

/** Hands the console to its children. */
export function ConsoleProvider({ value, children }: { value: Console; children: ReactNode }) {
  return <ConsoleContext.Provider value={value}>{children}</ConsoleContext.Provider>;
}

/** The console. */
export function useConsole(): Console {
  const found = useContext(ConsoleContext);
  if (!found) throw new BugError("no ConsoleProvider");
  return found;
}

/** The current time in epoch ms, updated every second. */
export function useNow(): number {
  const { clock } = useConsole();
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    const ticking = clock.every(1_000, () => setNow(clock.now()));
    return () => ticking.cancel();
  }, [clock]);
  return now;
}
