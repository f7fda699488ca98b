/** What is wrong with running on that Node, null when it runs Carillon; `engines` in package.json allows the same versions. */
export function nodeVersionError(version: string): string | null {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major >= 24 || (major === 22 && minor >= 13)) return null;
  return `Carillon needs Node 22.13, or 24 or newer; this is ${version}.`;
}
