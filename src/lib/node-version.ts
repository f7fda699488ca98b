/** Error text for an unsupported Node version, null for a supported one; must match `engines` in package.json. */
export function nodeVersionError(version: string): string | null {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major >= 24 || (major === 22 && minor >= 13)) return null;
  return `Carillon needs Node 22.13, or 24 or newer; this is ${version}.`;
}
