import { createHash, timingSafeEqual } from "node:crypto";
import { invalidValue } from "../lib/errors.ts";
import { hashWithArgon2, isArgon2Hash, verifyArgon2 } from "../lib/password-hash.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SecretField } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Secrets } from "./store.ts";

const PIN = /^\d{4,12}$/;

/** Fields whose secrets are stored as hashes. */
export function hashedFields({ fields }: AnyResource): string[] {
  return Object.entries(fields).flatMap(([name, spec]) =>
    spec.kind === "secret" && spec.stored === "hash" ? [name] : [],
  );
}

/**
 * Takes the secrets that are stored as hashes out of `given` and returns their hashes; hashing takes too long for a
 * transaction. An empty text becomes null. Throws CallerError for an invalid one.
 */
export async function hashGivenSecrets(
  resource: AnyResource,
  given: Record<string, unknown>,
): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const name of hashedFields(resource)) {
    if (given[name] === "") given[name] = null;
    const text = given[name];
    if (text === undefined || text === null) continue;
    const message = errorOf(text, resource.fields[name] as SecretField);
    if (message) throw invalidValue(name, message);
    hashes[name] = await hashWithArgon2(text as string);
    delete given[name];
  }
  return hashes;
}

function errorOf(text: unknown, { format, max }: SecretField): string | null {
  if (typeof text !== "string") return sentence("field.must-be-a-string");
  if (format === "pin") return PIN.test(text) ? null : sentence("field.must-be-4-to-12-digits");
  return [...text].length > max ? sentence("field.must-have-at-most-limit-characters", { limit: max }) : null;
}

/**
 * Whether `given` is the stored secret: a hash, or the encrypted text of an earlier release that is not hashed yet.
 */
export async function matchesStoredSecret(stored: string, given: string, secrets: Secrets): Promise<boolean> {
  if (isArgon2Hash(stored)) return verifyArgon2(given, stored);
  return timingSafeEqual(digestOf(secrets.open(stored)), digestOf(given));
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
