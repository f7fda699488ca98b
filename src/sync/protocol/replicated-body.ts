import type { AnyResource } from "../../schema/resource.ts";
import type { RowBody } from "../storage/transaction-program.ts";

/** When a row was used last is each side's own; it would travel with every request. What it was loaded from lies on one side alone. */
const LOCAL_FIELDS: ReadonlySet<string> = new Set(["pk", "lastUsedAt", "loadSourceId"]);
/** State in rows that everybody has under the same id: what is wrong at one appliance is not wrong at all. */
const LOCAL_STATE_FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  alarms: new Set(["status", "acknowledgedAt", "acknowledgedBy", "acknowledgementNote"]),
};

/** What is carried out where it came from is over for everybody else, who would take it up after a restart. */
const REMOTE_OVERRIDES: Readonly<Record<string, RowBody>> = { notifications: { stage: "settled" } };

/**
 * A row as it travels: inner values, without the internal key. What is sealed here can't be opened elsewhere and never
 * leaves; the other side keeps what it has in such a field.
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
 * Whether a row concerns the other side at all. own choice: sessions, and tokens that applications were given here, are
 * good where they were made.
 */
export function isReplicated({ name }: AnyResource, row: Readonly<Record<string, unknown>>): boolean {
  return name !== "user-tokens" || row.kind === "permanent";
}

/** Free JSON may hold sealed members (a plugin's configuration), known by their form. */
function containsEncryptedValue(value: unknown): boolean {
  return value !== null && JSON.stringify(value).includes('"v1:');
}
