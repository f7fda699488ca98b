const RULES = new Intl.PluralRules("en");

/** A number with its noun, such as `1 file` and `2 files`; `other` is a plural that does not end with an s more. */
export function counted(count: number, one: string, other = `${one}s`): string {
  return `${count} ${RULES.select(count) === "one" ? one : other}`;
}
