import { v5, v7 } from "uuid";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Namespace of every id that Carillon derives from a fact. */
const NAMESPACE = "6f0a3c1e-6a55-5c0e-9d58-0d3c6f6b7a11";

/** A new time-ordered identifier (UUID v7). @source RFC 9562 §5.7 */
export function newId(): string {
  return v7();
}

/** The identifier that always belongs to the same fact (UUID v5 of the parts joined by "/"). @source RFC 9562 §5.5 */
export function derivedId(...parts: string[]): string {
  return v5(parts.join("/"), NAMESPACE);
}

/** True for any RFC 9562 text form, whatever its version, in either case; nothing is trimmed. */
export function isUuid(value: unknown): value is string {
  return typeof value === "string" && UUID.test(value);
}
