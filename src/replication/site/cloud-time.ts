import type { Clock } from "../../base/clock.ts";

/** A pair of times of one moment: cloud time at most, and wall time here. */
export interface KeptTime {
  ct: number;
  wall: number;
}

/** How late it can be in the cloud, judged without trusting the wall clock while the process runs. */
export interface CloudTime {
  /** Cloud time `ct` was read after the monotonic moment `askedAt`. */
  told(ct: number, askedAt: number): void;
  /** It is not later than this in the cloud, epoch ms; null when nothing can be said. */
  latest(): number | null;
  /** To be kept for the next start; null before the cloud was heard. */
  kept(): KeptTime | null;
}

/** Quartz clocks differ by less. @source own choice: four times the 120 ppm of a bad one */
const DRIFT = 5e-4;
/** What a wall clock may be off after a start. @source own choice */
const WALL_MARGIN_MS = 2_000;

/**
 * Keeps the tightest bound: cloud time when it was asked, plus all that passed since. After a start the kept pair is used
 * with the wall clock, unless that is before the kept moment (a battery that died), until the cloud is heard.
 * @source replication.md 5, cloud time
 */
export function createCloudTime(clock: Pick<Clock, "now" | "monotonicMs">, before: KeptTime | null): CloudTime {
  let heard: { ct: number; mono: number } | null = null;
  const since = (mono: number): number => (clock.monotonicMs() - mono) * (1 + DRIFT);
  const byMonotonic = (): number | null => (heard ? Math.ceil(heard.ct + since(heard.mono)) : null);
  const byWall = (): number | null => {
    const passed = before ? clock.now() - before.wall : -1;
    return before && passed >= 0 ? Math.ceil(before.ct + passed * (1 + DRIFT) + WALL_MARGIN_MS) : null;
  };
  return {
    told(ct, askedAt) {
      const known = byMonotonic();
      const now = ct + since(askedAt);
      if (known === null || now < known) heard = { ct, mono: askedAt };
    },
    latest: () => byMonotonic() ?? byWall(),
    kept() {
      const ct = byMonotonic();
      return ct === null ? null : { ct, wall: clock.now() };
    },
  };
}
