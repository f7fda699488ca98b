/** Redacting shorter secrets would make logs unreadable without protecting anything. */
const MIN_SECRET_LENGTH = 4;

/** Replaces secrets in strings, also within arrays and objects. */
export type Redact = <T>(value: T) => T;

/** Creates the redaction of these secrets; the identity function without secrets. */
export function createRedact(secrets: readonly string[]): Redact {
  const long = secrets.filter((secret) => secret.length >= MIN_SECRET_LENGTH).sort((a, b) => b.length - a.length);
  if (long.length === 0) return (value) => value;
  const clean = (value: unknown): unknown => {
    if (typeof value === "string") return long.reduce((text, secret) => text.replaceAll(secret, "[redacted]"), value);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [clean(name), clean(member)]));
  };
  return (value) => clean(value) as typeof value;
}
