/**
 * True when version `one` (`1.2.3`, optionally with a suffix after a hyphen) is newer than `other`; only the three
 * numbers count.
 */
export function isNewerVersion(one: string, other: string): boolean {
  const [ours, theirs] = [numbersOf(one), numbersOf(other)];
  for (const [at, number] of ours.entries()) if (number !== (theirs[at] ?? 0)) return number > (theirs[at] ?? 0);
  return false;
}

function numbersOf(version: string): number[] {
  const [numbers = ""] = version.split("-");
  const parts = numbers.split(".").map(Number);
  return [0, 1, 2].map((at) => (Number.isInteger(parts[at]) ? (parts[at] as number) : 0));
}
