import { ssrcOf } from "../audio/rtp.ts";
import type { StateFolder } from "./state-folder.ts";

/** A ring that the speaker has dealt with; `at` is epoch ms of the appliance. */
export interface SoundedRing {
  ringId: string;
  at: number;
  /** `failed`: it was to sound alone, and its player could not. */
  how: "alone" | "stream" | "failed";
  /** The appliance knows of it. */
  told: boolean;
}

/** What has sounded, so that nothing sounds twice; every change is on the disk once it resolves. */
export interface RingBook {
  /** It was tried, or has sounded. */
  isKnown(ringId: string): boolean;
  /** The ring with a stream of this SSRC has sounded here without the appliance. */
  playedAlone(ssrc: number): boolean;
  add(ring: Omit<SoundedRing, "told">): Promise<void>;
  /** What sounded alone and was not told yet. */
  untold(): readonly SoundedRing[];
  told(rings: readonly SoundedRing[]): Promise<void>;
}

const FILE = "sounded.json";
/** So long a clock that is set back may bring a ring again: as far as plans reach. own choice */
const KEPT_MS = 15 * 86_400_000;
/** A ring that came by its stream comes no more when it is that old. own choice */
const STREAM_KEPT_MS = 3_600_000;

/** Reads the book of an agent. Rejects when it is damaged: without it, rings might sound twice. */
export async function openRingBook(state: StateFolder): Promise<RingBook> {
  const text = await state.read(FILE);
  let rings = text === null ? [] : (JSON.parse(text.toString("utf8")) as SoundedRing[]);
  let writing: Promise<void> = Promise.resolve();
  let alone = new Set<number>();
  const take = (next: SoundedRing[]): void => {
    rings = next;
    alone = new Set(next.filter(({ how }) => how === "alone").map(({ ringId }) => ssrcOf(ringId)));
  };
  take(rings);
  const write = (next: SoundedRing[]): Promise<void> => {
    take(next);
    writing = writing.catch(() => undefined).then(() => state.write(FILE, JSON.stringify(rings)));
    return writing;
  };
  return {
    isKnown: (ringId) => rings.some((ring) => ring.ringId === ringId),
    playedAlone: (ssrc) => alone.has(ssrc),
    add(ring) {
      const isKept = ({ at, how, told }: SoundedRing): boolean =>
        ring.at - at < (how === "stream" ? STREAM_KEPT_MS : KEPT_MS) || (how === "alone" && !told);
      const others = rings.filter((each) => each.ringId !== ring.ringId && isKept(each));
      return write([...others, { ...ring, told: ring.how !== "alone" }]);
    },
    untold: () => rings.filter(({ told }) => !told),
    told(given) {
      const ids = new Set(given.map(({ ringId }) => ringId));
      return write(rings.map((ring) => (ids.has(ring.ringId) ? { ...ring, told: true } : ring)));
    },
  };
}
