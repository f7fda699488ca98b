/** Longer values of a claim are ignored. */
const MAX_TEXT_LENGTH = 1_000;
/** Maximum number of values read from one attribute. */
const MAX_VALUES = 1_000;

/** Reads the text values of a claim or attribute; blank and too long ones are ignored. */
export function readClaimTexts(value: unknown): string[] {
  const values = Array.isArray(value) ? value : [value];
  return values
    .slice(0, MAX_VALUES)
    .map((each) => (typeof each === "number" ? String(each) : each))
    .filter((each): each is string => typeof each === "string")
    .map((each) => each.trim())
    .filter((each) => each !== "" && each.length <= MAX_TEXT_LENGTH);
}
