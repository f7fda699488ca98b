/** Shorter secrets would make a log unreadable without protecting anything. */
const MIN_SECRET_LENGTH = 4;

/** Replaces secrets in whatever a plugin says: texts, and texts inside lists and objects. */
export type Redact = <T>(value: T) => T;

/** Makes the replacement for these secrets; without any it gives back what it gets. */
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
