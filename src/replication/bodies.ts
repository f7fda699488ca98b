import type { AnyResource } from "../schema/resource.ts";
import type { Body } from "./work.ts";

/** When a row was used last is each side's own; it would travel with every request. What it was loaded from lies on one side alone. */
const OWN: ReadonlySet<string> = new Set(["pk", "lastUsedAt", "loadSourceId"]);
/** State in rows that everybody has under the same id: what is wrong at one appliance is not wrong at all. */
const OWN_STATE: Readonly<Record<string, ReadonlySet<string>>> = {
  alarms: new Set(["status", "acknowledgedAt", "acknowledgedBy", "acknowledgementNote"]),
};

/** What is carried out where it came from is over for everybody else, who would take it up after a restart. */
const ELSEWHERE: Readonly<Record<string, Body>> = { notifications: { stage: "settled" } };

/**
 * A row as it travels: inner values, without the internal key. What is sealed here can't be opened elsewhere and never
 * leaves; the other side keeps what it has in such a field.
 */
export function bodyOf(resource: AnyResource, row: Readonly<Record<string, unknown>>): Body {
  const kept = Object.entries(row).filter(([name, value]) => {
    const kind = resource.fields[name]?.kind;
    const isOwn = OWN.has(name) || OWN_STATE[resource.name]?.has(name);
    return !isOwn && kind !== "secret" && kind !== "computed" && !(kind === "json" && holdsSealed(value));
  });
  return { ...Object.fromEntries(kept), ...ELSEWHERE[resource.name] };
}

/**
 * Whether a row concerns the other side at all. own choice: sessions, and tokens that applications were given here, are
 * good where they were made.
 */
export function travels({ name }: AnyResource, row: Readonly<Record<string, unknown>>): boolean {
  return name !== "user-tokens" || row.kind === "permanent";
}

/** Free JSON may hold sealed members (a plugin's configuration), known by their form. */
function holdsSealed(value: unknown): boolean {
  return value !== null && JSON.stringify(value).includes('"v1:');
}
