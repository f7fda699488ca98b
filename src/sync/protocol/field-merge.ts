/**
 * Merges conflicting edits of one row, by field: fields that only one side has changed are merged, a field that both have
 * changed is a conflict, which hub/upstream-feed.ts keeps for an administrator.
 */

import { createHash } from "node:crypto";
import type { RowBody } from "../storage/transaction-program.ts";
import { SECRET_MARKS } from "./secret-marks.ts";

/**
 * An edit of one row: the values that were set, by field, and the additions to and removals from lists of ids. `was`
 * holds a hash of each field that was set (of the whole row for a deletion) as the editor saw it. A field is free of
 * conflict while it still has that hash, whatever the sequence number of the row is by then.
 */
export interface RowEdit {
  op: "create" | "update" | "delete";
  set: RowBody;
  add: Readonly<Record<string, readonly string[]>>;
  remove: Readonly<Record<string, readonly string[]>>;
  was: Readonly<Record<string, string>>;
}

/** Result of merging an edit: the merged row, and the fields in which the cloud kept its value. */
export interface MergeResult {
  body: RowBody | null;
  lost: string[];
  result: "merged" | "conflict" | "gone";
}

/** Begins the names of members that hold hashes of secrets. */
export const SECRET_HASH_PREFIX = "hash:";

/** Fields that follow from any write and never conflict. */
const DERIVED_FIELDS: ReadonlySet<string> = new Set(["id", "createdAt", "updatedAt"]);
/** Key of the whole row's hash in `was`. */
const WHOLE_ROW = "*";

/** Hash of a JSON value, independent of the order of its members. */
export function valueHash(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 16);
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join()}}`;
}

/** Hash of the whole row without timestamps, null fields and secrets: an earlier release does not know these. */
function rowHash(body: RowBody): string {
  const set = Object.entries(body).filter(
    ([name, value]) =>
      !(DERIVED_FIELDS.has(name) || name.startsWith(SECRET_HASH_PREFIX) || name === SECRET_MARKS) && value !== null,
  );
  return valueHash(Object.fromEntries(set));
}

/**
 * The edit that one write made; null if nothing changed. At least one body must be given. `idLists` names the id list
 * fields.
 */
export function diffRows(before: RowBody | null, after: RowBody | null, idLists: ReadonlySet<string>): RowEdit | null {
  const none = { set: {}, add: {}, remove: {}, was: {} };
  if (!after) return before ? { ...none, op: "delete", was: { [WHOLE_ROW]: rowHash(before) } } : null;
  if (!before) return { ...none, op: "create", set: after };
  const set: Record<string, unknown> = {};
  const add: Record<string, readonly string[]> = {};
  const remove: Record<string, readonly string[]> = {};
  const was: Record<string, string> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (DERIVED_FIELDS.has(name) || canonicalJson(before[name]) === canonicalJson(after[name])) continue;
    const lists = idLists.has(name) ? diffLists(before[name], after[name]) : null;
    if (lists) {
      if (lists.add.length > 0) add[name] = lists.add;
      if (lists.remove.length > 0) remove[name] = lists.remove;
      continue;
    }
    set[name] = after[name] ?? null;
    was[name] = valueHash(before[name]);
  }
  const changed = [set, add, remove].some((part) => Object.keys(part).length > 0);
  return changed ? { op: "update", set, add, remove, was } : null;
}

/** Null if only the order differs: then the list changed as a whole. */
function diffLists(before: unknown, after: unknown): { add: string[]; remove: string[] } | null {
  const old = new Set((before ?? []) as string[]);
  const now = new Set((after ?? []) as string[]);
  const add = [...now].filter((id) => !old.has(id));
  const remove = [...old].filter((id) => !now.has(id));
  return add.length + remove.length > 0 ? { add, remove } : null;
}

/** The row with the edit applied, as the site shows it while the cloud has not decided. */
export function applyEdit(body: RowBody | null, edit: RowEdit): RowBody | null {
  if (edit.op === "delete") return null;
  if (edit.op === "create") return { ...body, ...edit.set };
  return body && applyListChanges({ ...body, ...edit.set }, edit);
}

/**
 * Decides an edit at the cloud. A field that changed since the editor saw it keeps the cloud's value; lists of ids
 * always merge; an edit of a deleted row is `gone`; a deletion of a changed row is a conflict. With `wins` the edit
 * overrides the cloud's values.
 * @source docs/decisions/0040-replication.md, Section 4
 */
export function mergeEdit(body: RowBody | null, edit: RowEdit, wins = false): MergeResult {
  if (edit.op === "delete") {
    const isFree = wins || !body || rowHash(body) === edit.was[WHOLE_ROW];
    return isFree ? { body: null, lost: [], result: "merged" } : { body, lost: [WHOLE_ROW], result: "conflict" };
  }
  if (!body) {
    if (edit.op === "create") return { body: edit.set, lost: [], result: "merged" };
    return { body: null, lost: editedFields(edit), result: "gone" };
  }
  const lost = Object.entries(edit.set).flatMap(([name, value]) => {
    if (wins || DERIVED_FIELDS.has(name) || canonicalJson(body[name]) === canonicalJson(value)) return [];
    return valueHash(body[name]) === edit.was[name] ? [] : [name];
  });
  const free = Object.fromEntries(Object.entries(edit.set).filter(([name]) => !lost.includes(name)));
  return {
    body: applyListChanges({ ...body, ...free }, edit),
    lost,
    result: lost.length > 0 ? "conflict" : "merged",
  };
}

function applyListChanges(body: RowBody, { add, remove }: RowEdit): RowBody {
  const lists = [...new Set([...Object.keys(add), ...Object.keys(remove)])].map((name) => {
    const taken = new Set(remove[name] ?? []);
    const kept = ((body[name] ?? []) as string[]).filter((id) => !taken.has(id));
    return [name, [...kept, ...(add[name] ?? []).filter((id) => !kept.includes(id))]] as const;
  });
  return { ...body, ...Object.fromEntries(lists) };
}

function editedFields({ set, add, remove }: RowEdit): string[] {
  return [...new Set([...Object.keys(set), ...Object.keys(add), ...Object.keys(remove)])];
}
