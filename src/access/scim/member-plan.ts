import { isUuid } from "../../base/ids.ts";
import { GROUP } from "./attributes.ts";
import { isObject } from "./document.ts";
import { type Filter, parseFilter } from "./filter.ts";
import type { Operation } from "./patch.ts";
import { ScimRefusal } from "./refusal.ts";

/** Members that one request may name. own choice: those of the largest group that is promised. */
const MOST_NAMED = 20_000;
const MEMBERS = new RegExp(`^(?:${GROUP.replaceAll(".", "\\.")}:)?members(?:\\[(.*)\\])?(?:\\.value)?$`, "i");

/** What a request makes of a group's members, ids of users. */
export interface MemberPlan {
  joins: ReadonlySet<string>;
  leaves: ReadonlySet<string>;
  /** True where nobody else is in it afterwards. */
  isWhole: boolean;
}

type Growing = { joins: Set<string>; leaves: Set<string>; isWhole: boolean };

/** The plan by which these alone are in the group afterwards. */
export function onlyMembers(ids: readonly string[]): MemberPlan {
  return { joins: new Set(ids), leaves: new Set(), isWhole: true };
}

/** What operations say of members, and those that say something of others. Throws ScimRefusal. */
export function planMembers(operations: readonly Operation[]): { plan: MemberPlan; others: Operation[] } {
  const plan: Growing = { joins: new Set(), leaves: new Set(), isWhole: false };
  return { others: operations.flatMap((operation) => take(plan, operation) ?? []), plan };
}

/** Ids of users in a value of `members`. Throws ScimRefusal `invalidValue`, `tooMany`. */
export function memberIds(value: unknown): string[] {
  const values = Array.isArray(value) ? value : [value];
  if (values.length > MOST_NAMED) {
    throw new ScimRefusal("tooMany", `A request names at most ${MOST_NAMED} members.`);
  }
  const ids = values.map((each) => {
    const id = isObject(each) ? each.value : each;
    if (!isUuid(id)) throw new ScimRefusal("invalidValue", "A member is named by the id of a user here.");
    return id.toLowerCase();
  });
  return [...new Set(ids)];
}

function take(plan: Growing, operation: Operation): Operation | null {
  const { op, path, value } = operation;
  if (path === null && isObject(value)) {
    const entry = Object.entries(value).find(([name]) => MEMBERS.test(name));
    if (!entry) return operation;
    apply(plan, op, null, entry[1]);
    const rest = Object.entries(value).filter(([name]) => name !== entry[0]);
    return rest.length === 0 ? null : { ...operation, value: Object.fromEntries(rest) };
  }
  const match = path === null ? null : MEMBERS.exec(path);
  if (!match) return operation;
  apply(plan, op, match[1] ?? null, value);
  return null;
}

function apply(plan: Growing, op: Operation["op"], filter: string | null, value: unknown): void {
  if (filter !== null) {
    if (op !== "remove") throw new ScimRefusal("invalidPath", "Members that a filter names can only be removed.");
    leave(plan, namedBy(parseFilter(filter)));
    return;
  }
  const ids = value === null || value === undefined ? [] : memberIds(value);
  if (op === "remove" && ids.length > 0) {
    leave(plan, ids);
    return;
  }
  // Replacing begins with nobody, and so does removing all.
  if (op !== "add") Object.assign(plan, { joins: new Set(), leaves: new Set(), isWhole: true });
  for (const id of ids) {
    plan.joins.add(id);
    plan.leaves.delete(id);
  }
}

function leave(plan: Growing, ids: readonly string[]): void {
  for (const id of ids) {
    plan.joins.delete(id);
    plan.leaves.add(id);
  }
}

/** The ids that a filter over members names. Throws ScimRefusal `invalidFilter`. own choice: by their ids alone. */
function namedBy(filter: Filter): string[] {
  if (filter.op === "or") return filter.all.flatMap(namedBy);
  if (filter.op === "eq" && filter.path.toLowerCase() === "value" && typeof filter.value === "string") {
    return [filter.value.toLowerCase()];
  }
  throw new ScimRefusal("invalidFilter", "Members are named by their value alone.");
}
