import { ssrcOf } from "../media/rtp.ts";
import type { StateFolder } from "./state-folder.ts";

/** A ring that the speaker has dealt with; `at` is epoch ms of the appliance. */
export interface JournaledRing {
  ringId: string;
  at: number;
  /** `failed`: it was to sound alone, and its player could not. */
  how: "alone" | "stream" | "failed";
  /** The appliance knows of it. */
  told: boolean;
}

/** What has sounded, so that nothing sounds twice; every change is on the disk once it resolves. */
export interface RingJournal {
  /** It was tried, or has sounded. */
  has(ringId: string): boolean;
  /** The ring with a stream of this SSRC has sounded here without the appliance. */
  hasPlayedOffline(ssrc: number): boolean;
  add(ring: Omit<JournaledRing, "told">): Promise<void>;
  /** What sounded alone and was not told yet. */
  unreported(): readonly JournaledRing[];
  markReported(rings: readonly JournaledRing[]): Promise<void>;
}

const JOURNAL_FILE = "sounded.json";
/** So long a clock that is set back may bring a ring again: as far as plans reach. own choice */
const RETENTION_MS = 15 * 86_400_000;
/** A ring that came by its stream comes no more when it is that old. own choice */
const STREAM_RETENTION_MS = 3_600_000;

/** Reads the book of an agent. Rejects when it is damaged: without it, rings might sound twice. */
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
