import { ssrcOf } from "../media/rtp.ts";
import type { StateFolder } from "./state-folder.ts";

/** A handled ring; `at` is epoch ms of the appliance. */
export interface JournaledRing {
  ringId: string;
  at: number;
  /** `alone`: played offline. `stream`: played from the appliance's stream. `failed`: the offline playback failed. */
  how: "alone" | "stream" | "failed";
  /** Reported to the appliance. */
  told: boolean;
}

/** Journal of rings, so that no ring plays twice; changes are durable once they resolve. */
export interface RingJournal {
  /** True if the ring was attempted or played. */
  has(ringId: string): boolean;
  /** True if the ring with this SSRC was played offline. */
  hasPlayedOffline(ssrc: number): boolean;
  add(ring: Omit<JournaledRing, "told">): Promise<void>;
  /** Offline rings that are not reported yet. */
  unreported(): readonly JournaledRing[];
  markReported(rings: readonly JournaledRing[]): Promise<void>;
}

const JOURNAL_FILE = "sounded.json";
/** Covers a clock that is set back: as long as plans reach. */
const RETENTION_MS = 15 * 86_400_000;
/** A ring that came as a stream is not repeated after this time. */
const STREAM_RETENTION_MS = 3_600_000;

/** Opens the journal. Rejects if it is damaged: without it, rings might play twice. */
export async function openRingJournal(state: StateFolder): Promise<RingJournal> {
  const text = await state.read(JOURNAL_FILE);
  let rings = text === null ? [] : (JSON.parse(text.toString("utf8")) as JournaledRing[]);
  let writing: Promise<void> = Promise.resolve();
  let offlineSsrcs = new Set<number>();
  const index = (next: JournaledRing[]): void => {
    rings = next;
    offlineSsrcs = new Set(next.filter(({ how }) => how === "alone").map(({ ringId }) => ssrcOf(ringId)));
  };
  index(rings);
  const write = (next: JournaledRing[]): Promise<void> => {
    index(next);
    writing = writing.catch(() => undefined).then(() => state.write(JOURNAL_FILE, JSON.stringify(rings)));
    return writing;
  };
  return {
    has: (ringId) => rings.some((ring) => ring.ringId === ringId),
    hasPlayedOffline: (ssrc) => offlineSsrcs.has(ssrc),
    add(ring) {
      const isKept = ({ at, how, told }: JournaledRing): boolean =>
        ring.at - at < (how === "stream" ? STREAM_RETENTION_MS : RETENTION_MS) || (how === "alone" && !told);
      const others = rings.filter((each) => each.ringId !== ring.ringId && isKept(each));
      return write([...others, { ...ring, told: ring.how !== "alone" }]);
    },
    unreported: () => rings.filter(({ told }) => !told),
    markReported(given) {
      const ids = new Set(given.map(({ ringId }) => ringId));
      return write(rings.map((ring) => (ids.has(ring.ringId) ? { ...ring, told: true } : ring)));
    },
  };
}
