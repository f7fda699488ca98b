/** Secrets by their names, from lines of `name=secret`; what is no such line is left out. */
export function parseNamedSecrets(lines: string | null): ReadonlyMap<string, string> {
  const pairs = (lines ?? "").split("\n").flatMap((line): [string, string][] => {
    const at = line.indexOf("=");
    return at < 1 ? [] : [[line.slice(0, at).trim(), line.slice(at + 1).trim()]];
  });
  return new Map(pairs);
}
