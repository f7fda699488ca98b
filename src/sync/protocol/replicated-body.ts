import { isArgon2Hash } from "../../lib/password-hash.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { hashedFields } from "../../store/secret-hashes.ts";
import type { RowBody } from "../storage/transaction-program.ts";
import { SECRET_HASH_PREFIX } from "./field-merge.ts";
import { SECRET_MARKS } from "./secret-marks.ts";

/** `lastUsedAt` and `lastUsedAddress` would be sent with every request; `loadSourceId` refers to a row of one side. */
const LOCAL_FIELDS: ReadonlySet<string> = new Set(["pk", "lastUsedAt", "lastUsedAddress", "loadSourceId"]);
/** State in rows that exist on every side under the same id: an alarm at one appliance is not an alarm everywhere. */
const LOCAL_STATE_FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  alarms: new Set(["status", "acknowledgedAt", "acknowledgedBy", "acknowledgementNote"]),
};

/**
 * Work of the originating side is finished for all others, which would resume it after a restart otherwise. The receiver
 * sets it, too: an appliance must not have its work done elsewhere.
 */
export const REMOTE_OVERRIDES: Readonly<Record<string, RowBody>> = { notifications: { stage: "settled" } };

/**
 * A row in replicated form: inner values without the internal key. Encrypted values cannot be decrypted elsewhere and
 * are never sent; the other side keeps its own value of such a field. Secrets that are stored as hashes are sent as
 * `hash:` members, which an earlier release ignores.
 * @source docs/decisions/0466-secrets-and-replication.md
 */
export function replicatedBody(resource: AnyResource, row: Readonly<Record<string, unknown>>): RowBody {
  const kept = Object.entries(row).filter(([name, value]) => {
    const kind = resource.fields[name]?.kind;
    const isOwn = LOCAL_FIELDS.has(name) || LOCAL_STATE_FIELDS[resource.name]?.has(name);
    return !isOwn && kind !== "secret" && kind !== "computed" && !(kind === "json" && containsEncryptedValue(value));
  });
  const hashes = hashedFields(resource).flatMap((name) => {
    const value = row[name] ?? null;
    return value === null || isArgon2Hash(String(value)) ? [[SECRET_HASH_PREFIX + name, value]] : [];
  });
  return { ...Object.fromEntries([...kept, ...hashes]), ...REMOTE_OVERRIDES[resource.name] };
}

/**
 * Secrets of a received row in their stored form, by field; one that is missing is kept here. Null for an invalid hash: a
 * sender could choose one that takes minutes to verify.
 */
export function receivedHashes(resource: AnyResource, body: RowBody): Record<string, string | null> | null {
  const hashes: Record<string, string | null> = {};
  for (const name of hashedFields(resource)) {
    const value = body[SECRET_HASH_PREFIX + name];
    if (value === undefined) continue;
    if (value !== null && !(typeof value === "string" && isArgon2Hash(value))) return null;
    hashes[name] = value;
  }
  return hashes;
}

/** A received row as it is stored here; null if it has an invalid hash. */
export function storedBody(resource: AnyResource, body: RowBody): RowBody | null {
  const hashes = receivedHashes(resource, body);
  if (!hashes || (Object.keys(hashes).length === 0 && !(SECRET_MARKS in body))) return hashes && body;
  const rest = Object.entries(body).filter(([name]) => !name.startsWith(SECRET_HASH_PREFIX) && name !== SECRET_MARKS);
  return { ...Object.fromEntries(rest), ...hashes };
}

/**
 * Whether a row is replicated: sessions and application tokens are valid only where they were issued.
 * @source docs/decisions/0300-sync-limits.md
 */
export function isReplicated({ name }: AnyResource, row: Readonly<Record<string, unknown>>): boolean {
  return name !== "user-tokens" || row.kind === "permanent";
}

/** Free JSON may hold encrypted members (a plugin's configuration), recognized by their prefix. */
function containsEncryptedValue(value: unknown): boolean {
  return value !== null && JSON.stringify(value).includes('"v1:');
}
