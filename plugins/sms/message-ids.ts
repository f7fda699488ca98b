/**
 * Messages by the provider's id, found whatever its spelling: providers use hexadecimal ids in responses and decimal
 * ids in receipts, or vice versa, with or without leading zeros, in either case.
 * @source SMPP 3.4 §5.2.23, appendix B: the id is an opaque string in responses and decimal in the text of receipts
 */
export interface MessageIdIndex<T> {
  readonly size: number;
  /** Entries in order of insertion. */
  entries(): Iterable<readonly [string, T]>;
  set(name: string, value: T): void;
  delete(name: string): void;
  /**
   * The entry that `name` means; `numbers` are the telephone numbers of the receipt. The exact spelling is preferred,
   * unless only another candidate has one of the numbers. The other base counts only if no numbers contradict it.
   * `ambiguous` if several candidates remain.
   * @source docs/decisions/0752-text-messages.md, Receipts
   */
  find(name: string, numbers: readonly string[]): { name: string; value: T } | "ambiguous" | null;
}

/** Longest id that is compared as a number. */
const MAX_DIGITS = 32;
/** Compared digits of a number, since the prefixes of national and international forms differ. */
const SIGNIFICANT_DIGITS = 7;

/** Creates an empty index. */
export function createMessageIdIndex<T extends { numbers: readonly string[] }>(): MessageIdIndex<T> {
  const values = new Map<string, T>();
  const byKey = new Map<string, Set<string>>();
  const named = (keys: readonly string[]): string[] => keys.flatMap((key) => [...(byKey.get(key) ?? [])]);

  const remove = (name: string): void => {
    if (!values.delete(name)) return;
    for (const key of keysOf(name).stored) {
      const names = byKey.get(key);
      names?.delete(name);
      if (names?.size === 0) byKey.delete(key);
    }
  };

  return {
    get size() {
      return values.size;
    },
    entries: () => values.entries(),
    set(name, value) {
      remove(name);
      values.set(name, value);
      for (const key of keysOf(name).stored) byKey.set(key, (byKey.get(key) ?? new Set()).add(name));
    },
    delete: remove,
    find(name, numbers) {
      const { same, otherBase } = keysOf(name);
      const entryOf = (each: string): { name: string; value: T }[] => {
        const value = values.get(each);
        return value === undefined ? [] : [{ name: each, value }];
      };
      const spelled = new Set([...(values.has(name) ? [name] : []), ...named([same])]);
      const converted = new Set(named(otherBase).filter((each) => !spelled.has(each)));
      const candidates = [
        ...[...spelled].flatMap(entryOf),
        ...[...converted].flatMap(entryOf).filter(({ value }) => !contradicts(value.numbers, numbers)),
      ];
      const addressed = candidates.filter(({ value }) => haveCommonNumber(value.numbers, numbers));
      const [first, ...more] = addressed.length > 0 ? addressed : candidates;
      if (first === undefined) return null;
      return first.name === name || more.length === 0 ? first : "ambiguous";
    },
  };
}

/** Keys of a spelling: equal but for zeros and case, as stored, and as an id of the other base is stored. */
function keysOf(name: string): { same: string; stored: string[]; otherBase: string[] } {
  const plain = name
    .toLowerCase()
    .replace(/^0x/, "")
    .replace(/^0+(?=.)/, "");
  const same = `t${plain}`;
  if (plain.length > MAX_DIGITS || !/^[0-9a-f]+$/.test(plain)) return { same, stored: [same], otherBase: [] };
  const value = BigInt(`0x${plain}`).toString();
  const isDecimal = /^\d+$/.test(plain);
  return {
    same,
    stored: [same, `h${value}`, ...(isDecimal ? [`d${plain}`] : [])],
    otherBase: [`d${value}`, ...(isDecimal ? [`h${plain}`] : [])],
  };
}

function haveCommonNumber(some: readonly string[], others: readonly string[]): boolean {
  const ends = new Set(significant(others));
  return significant(some).some((each) => ends.has(each));
}

function contradicts(some: readonly string[], others: readonly string[]): boolean {
  const areKnown = significant(some).length > 0 && significant(others).length > 0;
  return areKnown && !haveCommonNumber(some, others);
}

function significant(numbers: readonly string[]): string[] {
  return numbers.map((each) => each.replace(/\D/g, "").slice(-SIGNIFICANT_DIGITS)).filter((each) => each !== "");
}
