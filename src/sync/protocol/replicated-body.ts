import type { AnyResource } from "../../schema/resource.ts";
import type { RowBody } from "../storage/transaction-program.ts";

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
 * are never sent; the other side keeps its own value of such a field.
 */
export function replicatedBody(resource: AnyResource, row: Readonly<Record<string, unknown>>): RowBody {
  const kept = Object.entries(row).filter(([name, value]) => {
    const kind = resource.fields[name]?.kind;
    const isOwn = LOCAL_FIELDS.has(name) || LOCAL_STATE_FIELDS[resource.name]?.has(name);
    return !isOwn && kind !== "secret" && kind !== "computed" && !(kind === "json" && containsEncryptedValue(value));
  });
  return { ...Object.fromEntries(kept), ...REMOTE_OVERRIDES[resource.name] };
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
