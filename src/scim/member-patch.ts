import { isUuid } from "../lib/ids.ts";
import { isJsonObject } from "./document.ts";
import { parseScimFilter, type ScimFilter } from "./filter-parser.ts";
import type { PatchOperation } from "./patch.ts";
import { GROUP_SCHEMA_URN } from "./schemas.ts";
import { ScimRequestError } from "./scim-error.ts";

/** Members that one request may name. own choice: those of the largest group that is promised. */
const MAX_MEMBERS = 20_000;
const MEMBERS_PATH = new RegExp(
  `^(?:${GROUP_SCHEMA_URN.replaceAll(".", "\\.")}:)?members(?:\\[(.*)\\])?(?:\\.value)?$`,
  "i",
);

/** What a request makes of a group's members, ids of users. */
export interface MemberPatch {
  added: ReadonlySet<string>;
  removed: ReadonlySet<string>;
  /** True where nobody else is in it afterwards. */
  replacesAll: boolean;
}

type MutableMemberPatch = { joins: Set<string>; leaves: Set<string>; isWhole: boolean };

/** The plan by which these alone are in the group afterwards. */
export function replaceMembers(ids: readonly string[]): MemberPatch {
  return { added: new Set(ids), removed: new Set(), replacesAll: true };
}

/** What operations say of members, and those that say something of others. Throws ScimRequestError. */
export function extractMemberOperations(operations: readonly PatchOperation[]): {
  plan: MemberPatch;
  others: PatchOperation[];
} {
  const plan: MutableMemberPatch = { joins: new Set(), leaves: new Set(), isWhole: false };
  return { others: operations.flatMap((operation) => extractMembers(plan, operation) ?? []), plan };
}

/** Ids of users in a value of `members`. Throws ScimRequestError `invalidValue`, `tooMany`. */
export function parseMemberIds(value: unknown): string[] {
  const values = Array.isArray(value) ? value : [value];
  if (values.length > MAX_MEMBERS) {
    throw new ScimRequestError("tooMany", `A request names at most ${MAX_MEMBERS} members.`);
  }
  const ids = values.map((each) => {
    const id = isJsonObject(each) ? each.value : each;
    if (!isUuid(id)) throw new ScimRequestError("invalidValue", "A member is named by the id of a user here.");
    return id.toLowerCase();
  });
  return [...new Set(ids)];
}

function extractMembers(plan: MutableMemberPatch, operation: PatchOperation): PatchOperation | null {
  const { op, path, value } = operation;
  if (path === null && isJsonObject(value)) {
    const entry = Object.entries(value).find(([name]) => MEMBERS_PATH.test(name));
    if (!entry) return operation;
    applyToMembers(plan, op, null, entry[1]);
    const rest = Object.entries(value).filter(([name]) => name !== entry[0]);
    return rest.length === 0 ? null : { ...operation, value: Object.fromEntries(rest) };
  }
  const match = path === null ? null : MEMBERS_PATH.exec(path);
  if (!match) return operation;
  applyToMembers(plan, op, match[1] ?? null, value);
  return null;
}

function applyToMembers(
  plan: MutableMemberPatch,
  op: PatchOperation["op"],
  filter: string | null,
  value: unknown,
): void {
  if (filter !== null) {
    if (op !== "remove") throw new ScimRequestError("invalidPath", "Members that a filter names can only be removed.");
    removeMembers(plan, memberIdsInFilter(parseScimFilter(filter)));
    return;
  }
  const ids = value === null || value === undefined ? [] : parseMemberIds(value);
  if (op === "remove" && ids.length > 0) {
    removeMembers(plan, ids);
    return;
  }
  // Replacing begins with nobody, and so does removing all.
  if (op !== "add") Object.assign(plan, { joins: new Set(), leaves: new Set(), isWhole: true });
  for (const id of ids) {
    plan.joins.add(id);
    plan.leaves.delete(id);
  }
}

function removeMembers(plan: MutableMemberPatch, ids: readonly string[]): void {
  for (const id of ids) {
    plan.joins.delete(id);
    plan.leaves.add(id);
  }
}

/** The ids that a filter over members names. Throws ScimRequestError `invalidFilter`. own choice: by their ids alone. */
function memberIdsInFilter(filter: ScimFilter): string[] {
  if (filter.op === "or") return filter.all.flatMap(memberIdsInFilter);
  if (filter.op === "eq" && filter.path.toLowerCase() === "value" && typeof filter.value === "string") {
    return [filter.value.toLowerCase()];
  }
  throw new ScimRequestError("invalidFilter", "Members are named by their value alone.");
}
