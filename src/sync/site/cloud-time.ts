import type { Clock } from "../../lib/clock.ts";

/** A pair of times of one moment: cloud time at most, and wall time here. */
export interface SavedCloudTime {
  cloudTimeMs: number;
  wallClockMs: number;
}

/** How late it can be in the cloud, judged without trusting the wall clock while the process runs. */
export interface CloudTime {
  /** Cloud time `ct` was read after the monotonic moment `askedAt`. */
  observe(ct: number, askedAt: number): void;
  /** It is not later than this in the cloud, epoch ms; null when nothing can be said. */
  latest(): number | null;
  /** The same, null until the cloud was heard in this life: no wall clock has a part in it. */
  latestObserved(): number | null;
  /** To be kept for the next start; null when nothing can be said. */
  toSaved(): SavedCloudTime | null;
}

/** Quartz clocks differ by less. @source own choice: four times the 120 ppm of a bad one */
const MAX_CLOCK_DRIFT = 5e-4;
/** What a wall clock may be off after a start. @source own choice */
const WALL_MARGIN_MS = 2_000;

/**
 * Keeps the tightest bound: cloud time when it was asked, plus all that passed since. Until the cloud is heard, the kept
 * pair is used, with the wall clock of the start alone (that may be set at any time), unless it is before the kept moment
 * (a battery that died). @source replication.md 5, cloud time
 */
export function createCloudTime(clock: Pick<Clock, "now" | "monotonicMs">, before: SavedCloudTime | null): CloudTime {
  const maxElapsedSince = (mono: number): number => (clock.monotonicMs() - mono) * (1 + MAX_CLOCK_DRIFT);
  const passed = before ? clock.now() - before.wallClockMs : -1;
  let known: { ct: number; mono: number; isHeard: boolean } | null = null;
  if (before && passed >= 0) {
    const ct = before.cloudTimeMs + passed * (1 + MAX_CLOCK_DRIFT) + WALL_MARGIN_MS;
    known = { ct, mono: clock.monotonicMs(), isHeard: false };
  }
  const latest = (): number | null => known && Math.ceil(known.ct + maxElapsedSince(known.mono));
  return {
    observe(ct, askedAt) {
      const isTighter = !known || ct + maxElapsedSince(askedAt) < known.ct + maxElapsedSince(known.mono);
      if (!known?.isHeard || isTighter) known = { ct, mono: askedAt, isHeard: true };
    },
    latest,
    latestObserved: () => (known?.isHeard ? latest() : null),
    toSaved() {
      const cloudTimeMs = latest();
      return cloudTimeMs === null ? null : { cloudTimeMs, wallClockMs: clock.now() };
    },
  };
}
