import { isUuid } from "../lib/ids.ts";
import { isJsonObject } from "../lib/json.ts";
import { parseScimFilter, type ScimFilter } from "./filter-parser.ts";
import type { PatchOperation } from "./patch.ts";
import { GROUP_SCHEMA_URN } from "./schemas.ts";
import { ScimRequestError } from "./scim-error.ts";

/** Maximum number of members in one request: the largest supported group. */
const MAX_MEMBERS = 20_000;
const MEMBERS_PATH = new RegExp(
  `^(?:${GROUP_SCHEMA_URN.replaceAll(".", "\\.")}:)?members(?:\\[(.*)\\])?(?:\\.value)?$`,
  "i",
);

/** Changes of a group's members; ids of users. */
export interface MemberPatch {
  added: ReadonlySet<string>;
  removed: ReadonlySet<string>;
  /** True when only `added` are members afterwards. */
  replacesAll: boolean;
}

type MutableMemberPatch = { added: Set<string>; removed: Set<string>; replacesAll: boolean };

/** A patch after which exactly these users are members. */
export function replaceMembers(ids: readonly string[]): MemberPatch {
  return { added: new Set(ids), removed: new Set(), replacesAll: true };
}

/** Splits operations into changes of members and other operations. Throws ScimRequestError. */
export function extractMemberOperations(operations: readonly PatchOperation[]): {
  plan: MemberPatch;
  others: PatchOperation[];
} {
  const plan: MutableMemberPatch = { added: new Set(), removed: new Set(), replacesAll: false };
  return { others: operations.flatMap((operation) => extractMembers(plan, operation) ?? []), plan };
}

/** Parses a value of `members` to user ids. Throws ScimRequestError `invalidValue`, `tooMany`. */
export function parseMemberIds(value: unknown): string[] {
  const values = Array.isArray(value) ? value : [value];
  if (values.length > MAX_MEMBERS) {
    throw new ScimRequestError("tooMany", `A request must not have more than ${MAX_MEMBERS} members.`);
  }
  const ids = values.map((each) => {
    const id = isJsonObject(each) ? each.value : each;
    if (!isUuid(id)) throw new ScimRequestError("invalidValue", "The value of a member must be a user id (UUID).");
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
    if (op !== "remove") throw new ScimRequestError("invalidPath", "A member filter is allowed for remove only.");
    removeMembers(plan, memberIdsInFilter(parseScimFilter(filter)));
    return;
  }
  const ids = value === null || value === undefined ? [] : parseMemberIds(value);
  if (op === "remove" && ids.length > 0) {
    removeMembers(plan, ids);
    return;
  }
  // Replace, and remove without a value, start from an empty group.
  if (op !== "add") Object.assign(plan, { added: new Set(), removed: new Set(), replacesAll: true });
  for (const id of ids) {
    plan.added.add(id);
    plan.removed.delete(id);
  }
}

function removeMembers(plan: MutableMemberPatch, ids: readonly string[]): void {
  for (const id of ids) {
    plan.added.delete(id);
    plan.removed.add(id);
  }
}

/**
 * The user ids in a member filter, which supports only equality of `value`. Throws ScimRequestError `invalidFilter`.
 */
function memberIdsInFilter(filter: ScimFilter): string[] {
  if (filter.op === "or") return filter.all.flatMap(memberIdsInFilter);
  if (filter.op === "eq" && filter.path.toLowerCase() === "value" && typeof filter.value === "string") {
    return [filter.value.toLowerCase()];
  }
  throw new ScimRequestError("invalidFilter", "Members can be filtered by value only: value eq.");
}
