import { createHash } from "node:crypto";
import type { Body } from "./work.ts";

/**
 * An edit of one row as somebody made it: what was set, by field, and what was added to and taken from lists of ids.
 * `was` has a hash of each field that was set, or of the whole row for a deletion, as the editor saw it: a field is free
 * as long as it still holds that, wherever the numbers of the feed have gone meanwhile.
 */
export interface Edit {
  op: "create" | "update" | "delete";
  set: Body;
  add: Readonly<Record<string, readonly string[]>>;
  remove: Readonly<Record<string, readonly string[]>>;
  was: Readonly<Record<string, string>>;
}

/** What came of an edit: the row as it is to be, and the fields whose cloud value stays. */
export interface Merge {
  body: Body | null;
  lost: string[];
  result: "merged" | "conflict" | "gone";
}

/** Members that follow from a write and are never in conflict. */
const FOLLOWING: ReadonlySet<string> = new Set(["id", "createdAt", "updatedAt"]);
/** Under this name `was` holds the hash of the whole row. */
const WHOLE = "*";

/** A hash of any JSON value, the same whatever the order of its members. */
function valueHash(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("hex").slice(0, 16);
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}

/** The whole row's hash, times of writing and what is not set left out. */
function rowHash(body: Body): string {
  const set = Object.entries(body).filter(([name, value]) => !FOLLOWING.has(name) && value !== null);
  return valueHash(Object.fromEntries(set));
}

/** What one write changed, as an edit; null when it changed nothing. One of the two is given. `idLists` are lists of ids. */
export function editOf(before: Body | null, after: Body | null, idLists: ReadonlySet<string>): Edit | null {
  const none = { set: {}, add: {}, remove: {}, was: {} };
  if (!after) return before ? { ...none, op: "delete", was: { [WHOLE]: rowHash(before) } } : null;
  if (!before) return { ...none, op: "create", set: after };
  const set: Record<string, unknown> = {};
  const add: Record<string, readonly string[]> = {};
  const remove: Record<string, readonly string[]> = {};
  const was: Record<string, string> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (FOLLOWING.has(name) || canonical(before[name]) === canonical(after[name])) continue;
    const lists = idLists.has(name) ? listChange(before[name], after[name]) : null;
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
function listChange(before: unknown, after: unknown): { add: string[]; remove: string[] } | null {
  const old = new Set((before ?? []) as string[]);
  const now = new Set((after ?? []) as string[]);
  const add = [...now].filter((id) => !old.has(id));
  const remove = [...old].filter((id) => !now.has(id));
  return add.length + remove.length > 0 ? { add, remove } : null;
}

/** The row with the edit on top, as the site shows it while the cloud has not decided. */
export function overlaid(body: Body | null, edit: Edit): Body | null {
  if (edit.op === "delete") return null;
  if (edit.op === "create") return { ...body, ...edit.set };
  return body && withLists({ ...body, ...edit.set }, edit);
}

/**
 * Lets the cloud decide. A field that changed since the editor saw it keeps the cloud's value; lists of ids always
 * merge; an edit of a deleted row is gone; a deletion of a row that changed is a conflict. One that `wins` stands against other
 * values. @source replication.md 4
 */
export function merged(body: Body | null, edit: Edit, wins = false): Merge {
  if (edit.op === "delete") {
    const isFree = wins || !body || rowHash(body) === edit.was[WHOLE];
    return isFree ? { body: null, lost: [], result: "merged" } : { body, lost: [WHOLE], result: "conflict" };
  }
  if (!body) {
    if (edit.op === "create") return { body: edit.set, lost: [], result: "merged" };
    return { body: null, lost: fieldsOf(edit), result: "gone" };
  }
  const lost = Object.entries(edit.set).flatMap(([name, value]) => {
    if (wins || FOLLOWING.has(name) || canonical(body[name]) === canonical(value)) return [];
    return valueHash(body[name]) === edit.was[name] ? [] : [name];
  });
  const free = Object.fromEntries(Object.entries(edit.set).filter(([name]) => !lost.includes(name)));
  return {
    body: withLists({ ...body, ...free }, edit),
    lost,
    result: lost.length > 0 ? "conflict" : "merged",
  };
}

function withLists(body: Body, { add, remove }: Edit): Body {
  const lists = [...new Set([...Object.keys(add), ...Object.keys(remove)])].map((name) => {
    const taken = new Set(remove[name] ?? []);
    const kept = ((body[name] ?? []) as string[]).filter((id) => !taken.has(id));
    return [name, [...kept, ...(add[name] ?? []).filter((id) => !kept.includes(id))]] as const;
  });
  return { ...body, ...Object.fromEntries(lists) };
}

function fieldsOf({ set, add, remove }: Edit): string[] {
  return [...new Set([...Object.keys(set), ...Object.keys(add), ...Object.keys(remove)])];
}
