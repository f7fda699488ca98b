import { createHash } from "node:crypto";
import type { RowBody } from "../storage/transaction-program.ts";

/**
 * An edit of one row as somebody made it: what was set, by field, and what was added to and taken from lists of ids.
 * `was` has a hash of each field that was set, or of the whole row for a deletion, as the editor saw it: a field is free
 * as long as it still holds that, wherever the numbers of the feed have gone meanwhile.
 */
export interface RowEdit {
  op: "create" | "update" | "delete";
  set: RowBody;
  add: Readonly<Record<string, readonly string[]>>;
  remove: Readonly<Record<string, readonly string[]>>;
  was: Readonly<Record<string, string>>;
}

/** What came of an edit: the row as it is to be, and the fields whose cloud value stays. */
export interface MergeResult {
  body: RowBody | null;
  lost: string[];
  result: "merged" | "conflict" | "gone";
}

/** Members that follow from a write and are never in conflict. */
const DERIVED_FIELDS: ReadonlySet<string> = new Set(["id", "createdAt", "updatedAt"]);
/** Under this name `was` holds the hash of the whole row. */
const WHOLE_ROW = "*";

/** A hash of any JSON value, the same whatever the order of its members. */
function valueHash(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 16);
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join()}}`;
}

/** The whole row's hash, times of writing and what is not set left out. */
function rowHash(body: RowBody): string {
  const set = Object.entries(body).filter(([name, value]) => !DERIVED_FIELDS.has(name) && value !== null);
  return valueHash(Object.fromEntries(set));
}

/** What one write changed, as an edit; null when it changed nothing. One of the two is given. `idLists` are lists of ids. */
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

/** Null where only the order differs, which is a change of the list as a whole. */
function diffLists(before: unknown, after: unknown): { add: string[]; remove: string[] } | null {
  const old = new Set((before ?? []) as string[]);
  const now = new Set((after ?? []) as string[]);
  const add = [...now].filter((id) => !old.has(id));
  const remove = [...old].filter((id) => !now.has(id));
  return add.length + remove.length > 0 ? { add, remove } : null;
}

/** The row with the edit on top, as the site shows it while the cloud has not decided. */
export function applyEdit(body: RowBody | null, edit: RowEdit): RowBody | null {
  if (edit.op === "delete") return null;
  if (edit.op === "create") return { ...body, ...edit.set };
  return body && applyListChanges({ ...body, ...edit.set }, edit);
}

/**
 * Lets the cloud decide. A field that changed since the editor saw it keeps the cloud's value; lists of ids always
 * merge; an edit of a deleted row is gone; a deletion of a row that changed is a conflict. One that `wins` stands against other
 * values. @source replication.md 4
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
