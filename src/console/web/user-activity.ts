import type { BrowserClock } from "./browser-clock.ts";

/** Whether someone uses the page, so that background requests do not extend the session. */
export interface UserActivity {
  /** True when nobody has touched the page for a while, and within `asIfAlone`. */
  isIdle(): boolean;
  /** Whatever `fn` begins to read at once, nobody has asked for, though somebody may be there. */
  inBackground<T>(fn: () => T): T;
}

/** A page that nobody has touched for so long reads on its own account. */
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
