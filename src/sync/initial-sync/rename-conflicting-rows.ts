import extensions from "../../resources/devices/extensions.ts";
import users from "../../resources/people/users.ts";
import { tableName } from "../../schema/catalogue.ts";
import type { Field } from "../../schema/field.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { SqlValue, Transaction } from "../../store/store.ts";

type TextField = Extract<Field, { kind: "text" }>;

/** Suffix of an appliance's own rows after it joined. @source docs/decisions/0300-sync-limits.md */
const SUFFIX = " (site)";
/** Switch fields, with the values for off. */
const SWITCHES = { disabled: 1, enabled: 0 } as const;
/** Plugins also execute commands of the cloud. */
const KEPT_ENABLED: ReadonlySet<string> = new Set([extensions.name]);

/**
 * Renames an appliance's own row, so that its name is free for a row of the organisation, and disables it. The appliance's
 * administrators keep access in case the cloud is unreachable; its other users are locked from `now` on. An already renamed row
 * stays as it is.
 */
export function renameAndDisable(tx: Transaction, resource: AnyResource, id: string, now: number): void {
  if (KEPT_ENABLED.has(resource.name)) return;
  const sets: [string, SqlValue][] = [];
  const table = tableName(resource);
  const field = resource.fields.name;
  if (field?.kind === "text") {
    const name = tx.one<{ name: string | null }>(`SELECT name FROM ${table} WHERE id = ?`, id)?.name ?? null;
    if (name !== null && !name.endsWith(SUFFIX)) sets.push(["name", renamed(tx, resource, name, field)]);
  }
  for (const [member, off] of Object.entries(SWITCHES))
    if (resource.fields[member]?.kind === "boolean") sets.push([member, off]);
  if (resource.name === users.name && !isAdministrator(tx, id))
    sets.push(["lock", JSON.stringify({ start: now, end: null })]);
  if (sets.length === 0) return;
  const text = sets.map(([member]) => `${member} = ?`).join(", ");
  tx.run(`UPDATE main.${table} SET ${text} WHERE id = ?`, ...sets.map(([, value]) => value), id);
}

/** A row renamed for an earlier organisation may have the new name already. */
function renamed(tx: Transaction, resource: AnyResource, name: string, { max, unique }: TextField): string {
  const isUnique = unique === true || resource.unique?.some((fields) => fields.includes("name"));
  for (let n = 1; ; n++) {
    const end = n === 1 ? SUFFIX : ` ${n}${SUFFIX}`;
    const made = `${[...name].slice(0, max - end.length).join("")}${end}`;
    const sql = `SELECT 1 FROM ${tableName(resource)} WHERE name = ? COLLATE NOCASE`;
    if (!isUnique || !tx.one(sql, made)) return made;
  }
}

function isAdministrator(tx: Transaction, userId: string): boolean {
  const sql = `SELECT 1 FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
    WHERE g.super_group = 1 AND m.user_pk = (SELECT pk FROM users WHERE id = ?)`;
  return tx.one(sql, userId) !== null;
}
