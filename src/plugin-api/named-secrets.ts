/** Parses lines of `name=secret`; ignores other lines. */
export function parseNamedSecrets(lines: string | null): ReadonlyMap<string, string> {
  const pairs = (lines ?? "").split("\n").flatMap((line): [string, string][] => {
    const at = line.indexOf("=");
    return at < 1 ? [] : [[line.slice(0, at).trim(), line.slice(at + 1).trim()]];
  });
  return new Map(pairs);
}
