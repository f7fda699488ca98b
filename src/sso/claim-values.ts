/** Longest text that is taken of a provider. own choice */
const MAX_TEXT_LENGTH = 1_000;
/** Values of one attribute that are looked at. own choice */
const MAX_VALUES = 1_000;

/** The texts in a claim or attribute, which may hold one or several; blank and far too long ones are left out. */
export function readClaimTexts(value: unknown): string[] {
  const values = Array.isArray(value) ? value : [value];
  return values
    .slice(0, MAX_VALUES)
    .map((each) => (typeof each === "number" ? String(each) : each))
    .filter((each): each is string => typeof each === "string")
    .map((each) => each.trim())
    .filter((each) => each !== "" && each.length <= MAX_TEXT_LENGTH);
}
