/** Longest value for which others are looked up, and how many letters may differ. */
const MAX_LENGTH = 60;
const MAX_DISTANCE = 2;
const MAX_SUGGESTIONS = 3;

/**
 * Values that were probably meant: by another name, in another case, by their last part (`Vancouver`), or with one or two
 * letters that differ.
 */
export function suggestValues(
  given: unknown,
  values: readonly string[],
  otherNames: Readonly<Record<string, readonly string[]>> = {},
): readonly string[] {
  if (typeof given !== "string" || given.length > MAX_LENGTH) return [];
  const wanted = fold(given);
  if (wanted === "") return [];
  const names = Object.keys(otherNames);
  const name = given.trim().toLowerCase().replace("daylight time", "standard time");
  if (Object.hasOwn(otherNames, name)) return otherNames[name] ?? [];
  const same = values.filter((value) => fold(value) === wanted || fold(value).split("/").at(-1) === wanted);
  if (same.length > 0) return same.slice(0, MAX_SUGGESTIONS);
  const near = [
    ...values.map((value) => ({ value, distance: editDistance(wanted, fold(value)) })),
    ...values.map((value) => ({ value, distance: editDistance(wanted, fold(value).split("/").at(-1) ?? "") })),
    ...names.flatMap((name) => {
      const distance = editDistance(wanted, fold(name));
      return (otherNames[name] ?? []).map((value) => ({ value, distance }));
    }),
  ]
    .filter(({ distance }) => distance <= Math.min(MAX_DISTANCE, wanted.length / 4))
    .sort((one, other) => one.distance - other.distance);
  const nearest = near.filter(({ distance }) => distance === near[0]?.distance);
  return [...new Set(nearest.map(({ value }) => value))].slice(0, MAX_SUGGESTIONS);
}

function fold(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, "_");
}

/** Letters that are missing, superfluous, different or swapped with the next; more than MAX_DISTANCE is not counted exactly. */
function editDistance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > MAX_DISTANCE) return MAX_DISTANCE + 1;
  let previous: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 1; at <= one.length; at++) {
    const next = [at];
    for (let to = 1; to <= other.length; to++) {
      const isSame = one[at - 1] === other[to - 1];
      const isSwapped = at > 1 && to > 1 && one[at - 1] === other[to - 2] && one[at - 2] === other[to - 1];
      const replaced = (row[to - 1] ?? 0) + (isSame ? 0 : 1);
      const shifted = Math.min(row[to] ?? 0, next[to - 1] ?? 0) + 1;
      next.push(Math.min(replaced, shifted, isSwapped ? (previous[to - 2] ?? 0) + 1 : replaced));
    }
    [previous, row] = [row, next];
  }
  return row[other.length] ?? 0;
}
