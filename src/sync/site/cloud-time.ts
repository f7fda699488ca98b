import type { Clock } from "../../lib/clock.ts";

/** Two times of one moment: upper bound of cloud time, and local wall time. */
export interface SavedCloudTime {
  cloudTimeMs: number;
  wallClockMs: number;
}

/** Upper bound of cloud time; does not depend on the wall clock once the cloud was heard. */
export interface CloudTime {
  /** Cloud time `ct` was read after the monotonic moment `askedAt`. */
  observe(ct: number, askedAt: number): void;
  /** Cloud time is at most this, epoch ms; null if unknown. */
  latest(): number | null;
  /** The same; null until the cloud was heard in this process. Never derived from the wall clock. */
  latestObserved(): number | null;
  /** To be saved for the next start; null if unknown. */
  toSaved(): SavedCloudTime | null;
}

/** Largest drift between two quartz clocks: four times that of a bad one (120 ppm). @source docs/decisions/0300-sync-limits.md */
const MAX_CLOCK_DRIFT = 5e-4;
/** Allowance for wall clock error over a restart. @source docs/decisions/0300-sync-limits.md */
const WALL_MARGIN_MS = 2_000;

/**
 * Keeps the tightest bound: cloud time at the request plus all the time since. Until the cloud is heard the saved pair is
 * used, together with the wall clock at the start only (it may be set at any time), unless that is before the saved moment
 * (a dead clock battery). @source docs/decisions/0040-replication.md, Section 5
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
