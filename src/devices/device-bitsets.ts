/** Device types that groups count, in the order of their masks. */
export const COUNTED_DEVICE_TYPES = ["phones", "speakers", "idns", "plugins"] as const;

/** A bit set of devices by slot, 32 slots to a word; grows as it is filled. */
export interface DeviceSet {
  words: Uint32Array;
}

/** An empty set with room for `places` slots. */
export function emptySet(places = 0): DeviceSet {
  return { words: new Uint32Array(Math.max(1, Math.ceil(places / 32))) };
}

export function setMember(set: DeviceSet, place: number, isMember: boolean): void {
  const mask = 1 << (place & 31);
  setWord(set, place >>> 5, mask, isMember ? mask : 0);
}

export function hasMember({ words }: DeviceSet, place: number): boolean {
  return (((words[place >>> 5] ?? 0) >>> (place & 31)) & 1) === 1;
}

/** Sets the bits of `mask` in one word to those of `ones`; other bits do not change. */
export function setWord(set: DeviceSet, word: number, mask: number, ones: number): void {
  if (word >= set.words.length) {
    if (ones === 0) return;
    const words = new Uint32Array(Math.max(word + 1, set.words.length * 2));
    words.set(set.words);
    set.words = words;
  }
  set.words[word] = ((set.words[word] as number) & ~mask) | ones;
}

export function unionOf(sets: readonly DeviceSet[]): DeviceSet {
  const words = new Uint32Array(sets.reduce((most, set) => Math.max(most, set.words.length), 0));
  for (const { words: more } of sets) {
    for (let at = 0; at < more.length; at++) words[at] = (words[at] as number) | (more[at] as number);
  }
  return { words };
}

export function differenceOf(set: DeviceSet, other: DeviceSet): DeviceSet {
  return { words: set.words.map((word, at) => word & ~(other.words[at] ?? 0)) };
}

export function countIntersection({ words }: DeviceSet, mask: DeviceSet): number {
  let count = 0;
  for (let at = 0; at < words.length && at < mask.words.length; at++) {
    count += popCount((words[at] as number) & (mask.words[at] as number));
  }
  return count;
}

/** Number of set bits, by parallel summation. */
function popCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Assigns each device a slot in the bit sets; slots of deleted devices are reused. */
export interface DeviceSlots {
  /** The slot of a device; allocates one if needed. */
  assign(device: { id: string; pk: number; type: string }): number;
  /** Undefined if the device has no slot. */
  slotOfId(id: string): number | undefined;
  /** Call once the device is in no set. */
  release(id: string): void;
  /** Number of slots allocated so far. */
  readonly size: number;
  /** Internal keys of the devices of a set, ascending. */
  keysOf(set: DeviceSet): number[];
  /** The slot of a device by internal key. */
  slotOfKey(pk: number): number | undefined;
  /** All devices of a type. */
  ofType(kind: (typeof COUNTED_DEVICE_TYPES)[number]): DeviceSet;
}

export function createDeviceSlots(): DeviceSlots {
  const places = new Map<string, number>();
  const byKey = new Map<number, number>();
  const keys: number[] = [];
  const free: number[] = [];
  const kinds = COUNTED_DEVICE_TYPES.map(() => emptySet());
  const setKind = (place: number, type: string | null): void => {
    for (const [at, kind] of COUNTED_DEVICE_TYPES.entries()) setMember(kinds[at] as DeviceSet, place, kind === type);
  };
  return {
    assign({ id, pk, type }) {
      const place = places.get(id) ?? free.pop() ?? keys.length;
      places.set(id, place);
      byKey.set(pk, place);
      keys[place] = pk;
      setKind(place, type);
      return place;
    },
    slotOfId: (id) => places.get(id),
    get size() {
      return keys.length;
    },
    release(id) {
      const place = places.get(id);
      if (place === undefined) return;
      places.delete(id);
      byKey.delete(keys[place] as number);
      setKind(place, null);
      free.push(place);
    },
    keysOf({ words }) {
      const found: number[] = [];
      for (let at = 0; at < words.length; at++) {
        for (let word = words[at] as number; word !== 0; word &= word - 1) {
          found.push(keys[at * 32 + (31 - Math.clz32(word & -word))] as number);
        }
      }
      // Slots follow the order of the keys until devices are deleted.
      const isAscending = found.every((key, at) => at === 0 || key > (found[at - 1] as number));
      return isAscending ? found : Array.from(Float64Array.from(found).sort());
    },
    slotOfKey: (pk) => byKey.get(pk),
    ofType: (kind) => kinds[COUNTED_DEVICE_TYPES.indexOf(kind)] as DeviceSet,
  };
}
