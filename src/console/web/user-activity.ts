import type { BrowserClock } from "./browser-clock.ts";

/** Whether someone uses the page, so that background requests do not extend the session. */
export interface UserActivity {
  /** True if there was no input for a while, and within `inBackground`. */
  isIdle(): boolean;
  /** Marks requests that `fn` starts synchronously as background requests, even if a user is active. */
  inBackground<T>(fn: () => T): T;
}

/** Without input for this long, requests of the page count as background requests. */
const ATTENDED_MS = 15_000;

/** Watches user activity for the lifetime of the page; active at first. */
export function watchUserActivity(target: EventTarget, clock: BrowserClock): UserActivity {
  let touchedAt = clock.now();
  let alone = false;
  const touch = (): void => {
    touchedAt = clock.now();
  };
  const kinds = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"];
  for (const kind of kinds) target.addEventListener(kind, touch, { passive: true });
  return {
    isIdle: () => alone || clock.now() - touchedAt > ATTENDED_MS,
    inBackground(fn) {
      alone = true;
      try {
        return fn();
      } finally {
        alone = false;
      }
    },
  };
}
