import type { BrowserClock } from "./browser-clock.ts";

/** A page that nobody has touched for so long reads on its own account. */
const ATTENDED_MS = 15_000;

/** Watches for as long as the page lives whether somebody uses it; tells whether it is left alone. At first it is not. */
export function watchAttention(target: EventTarget, clock: BrowserClock): () => boolean {
  let touchedAt = clock.now();
  const touch = (): void => {
    touchedAt = clock.now();
  };
  const kinds = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"];
  for (const kind of kinds) target.addEventListener(kind, touch, { passive: true });
  return () => clock.now() - touchedAt > ATTENDED_MS;
}
