import { isJsonObject } from "../lib/json.ts";
import {
  type AttributeTarget,
  assertDocumentSize,
  findExtension,
  normalizePrimary,
  parseAttributeValue,
  parseSingleValue,
  resolveAttribute,
  type ScimDocument,
  type ScimResourceType,
} from "./document.ts";
import { matchesScimFilter, requiredMembers } from "./filter-evaluator.ts";
import { parseScimFilter, type ScimFilter } from "./filter-parser.ts";
import { IGNORED_ATTRIBUTES } from "./schemas.ts";
import { ScimRequestError } from "./scim-error.ts";

/** One operation of a PATCH. */
export interface PatchOperation {
  op: "add" | "replace" | "remove";
  path: string | null;
  value: unknown;
}

/** Target of an operation: an attribute, restricted by a filter if it is multi-valued. */
export interface PatchTarget extends AttributeTarget {
  filter: ScimFilter | null;
}

/** Maximum number of operations in one PATCH. */
const MAX_OPERATIONS = 1_000;

/**
 * Parses the operations of a PATCH, ignoring the case of names. Throws ScimRequestError `invalidSyntax`.
 * @source RFC 7644 §3.5.2
 */
export function parsePatchOperations(body: unknown): PatchOperation[] {
  const given = isJsonObject(body) ? readMember(body, "operations") : null;
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_OPERATIONS) {
    throw new ScimRequestError("invalidSyntax", `Operations must be a list of 1 to ${MAX_OPERATIONS} operations.`);
  }
  return given.map((each) => {
    const op = isJsonObject(each) ? String(readMember(each, "op")).toLowerCase() : "";
    if (!isJsonObject(each) || (op !== "add" && op !== "replace" && op !== "remove")) {
      throw new ScimRequestError("invalidSyntax", "op must be add, replace or remove.");
    }
    const path = readMember(each, "path") ?? null;
    if (path !== null && typeof path !== "string") throw new ScimRequestError("invalidPath", "path must be a string.");
    return { op, path: path === "" ? null : path, value: readMember(each, "value") };
  });
}

/**
 * Resolves a path; null for attributes that are accepted but not stored. Throws ScimRequestError `invalidPath`,
 * `invalidFilter`, and `mutability` for read-only attributes.
 */
function resolvePatchTarget(type: ScimResourceType, path: string): PatchTarget | null {
  const open = path.indexOf("[");
  const close = path.lastIndexOf("]");
  const hasFilter = open > 0 && close > open;
  const plain = hasFilter ? path.slice(0, open) + path.slice(close + 1) : path;
  const target = resolveAttribute(type, plain);
  if (!target) {
    if (IGNORED_ATTRIBUTES.has((plain.split(".")[0] ?? "").toLowerCase())) return null;
    throw new ScimRequestError("invalidPath", `Attribute ${plain} does not exist.`);
  }
  const { attribute, sub } = target;
  if (attribute.mutability === "readOnly" || sub?.mutability === "readOnly") {
    throw new ScimRequestError("mutability", `Attribute ${plain} is read-only.`);
  }
  if (hasFilter && !attribute.multiValued)
    throw new ScimRequestError("invalidPath", `Attribute ${plain} is not multi-valued; a value filter is not allowed.`);
  return { ...target, filter: hasFilter ? parseScimFilter(path.slice(open + 1, close)) : null };
}

/**
 * Applies operations in order to a copy of the document. An add or replace on a value that does not exist, selected by
 * a filter of equalities, creates it, as some directories expect. Throws ScimRequestError.
 */
export function applyPatch(
  type: ScimResourceType,
  document: ScimDocument,
  operations: readonly PatchOperation[],
): ScimDocument {
  const patched = structuredClone(document);
  for (const operation of operations) applyOperation(type, patched, operation);
  assertDocumentSize(patched);
  return patched;
}

function applyOperation(type: ScimResourceType, document: ScimDocument, operation: PatchOperation): void {
  const { op, path, value } = operation;
  const extension = path === null ? null : findExtension(type, path);
  if (path !== null && !extension) {
    const target = resolvePatchTarget(type, path);
    if (target) applyToTarget(document, op, target, value);
  } else if (op !== "remove") {
    if (!isJsonObject(value)) throw new ScimRequestError("invalidValue", "value must be an object if path is omitted.");
    applyObject(type, document, op, value, extension?.id ?? null);
  } else if (extension) {
    delete document[extension.id];
  } else {
    throw new ScimRequestError("noTarget", "path is required for remove.");
  }
}

/**
 * Applies an object value; members may be dotted paths or an extension URN. Unknown and read-only attributes are
 * ignored.
 */
function applyObject(
  type: ScimResourceType,
  document: ScimDocument,
  op: "add" | "replace",
  members: Readonly<Record<string, unknown>>,
  urn: string | null,
): void {
  for (const [name, value] of Object.entries(members)) {
    const extension = urn === null ? findExtension(type, name) : null;
    if (extension && isJsonObject(value)) applyObject(type, document, op, value, extension.id);
    const path = urn === null ? name : `${urn}:${name}`;
    const resolved = resolveAttribute(type, path);
    const target = name.includes("[") ? resolvePatchTarget(type, path) : resolved && { ...resolved, filter: null };
    if (target && target.attribute.mutability !== "readOnly") applyToTarget(document, op, target, value);
  }
}

function applyToTarget(document: ScimDocument, op: PatchOperation["op"], target: PatchTarget, value: unknown): void {
  const { extension, attribute, sub } = target;
  const holder = extension === null ? document : ((document[extension] ?? {}) as ScimDocument);
  const before = holder[attribute.name];
  let after: unknown;
  if (attribute.multiValued) after = patchValues(op, target, (before as ScimDocument[]) ?? [], value);
  else if (sub) after = patchMember(op, target, (before as ScimDocument) ?? {}, value);
  else if (op === "remove") after = undefined;
  else {
    const read = parseAttributeValue(attribute, value);
    after = isJsonObject(read) && isJsonObject(before) ? { ...before, ...read } : read;
  }
  if (isEmpty(after)) delete holder[attribute.name];
  else holder[attribute.name] = after;
  if (extension === null) return;
  if (isEmpty(holder)) delete document[extension];
  else document[extension] = holder;
}

function patchMember(
  op: PatchOperation["op"],
  { sub }: PatchTarget,
  before: ScimDocument,
  value: unknown,
): ScimDocument {
  const { [sub?.name ?? ""]: _old, ...others } = before;
  const read = op === "remove" || !sub ? undefined : parseAttributeValue(sub, value);
  return read === undefined || !sub ? others : { ...others, [sub.name]: read };
}

function patchValues(
  op: PatchOperation["op"],
  target: PatchTarget,
  before: readonly ScimDocument[],
  value: unknown,
): ScimDocument[] {
  const { attribute, sub, filter } = target;
  const matching = before.filter((each) => filter === null || matchesScimFilter(filter, each));
  if (filter === null && !sub) {
    const given = (parseAttributeValue(attribute, value) ?? []) as ScimDocument[];
    if (op === "replace") return given;
    if (op === "add")
      return normalizePrimary([...before, ...given.filter((each) => !before.some((old) => isSameValue(old, each)))]);
    // Some directories send the values to remove instead of a filter.
    return given.length === 0 ? [] : before.filter((each) => !given.some((old) => old.value === each.value));
  }
  if (op === "remove" && !sub) return before.filter((each) => !matching.includes(each));
  const change = (each: ScimDocument): ScimDocument => {
    if (sub) return patchMember(op, target, each, value);
    return { ...(op === "replace" ? {} : each), ...((parseSingleValue(attribute, value) ?? {}) as ScimDocument) };
  };
  if (matching.length === 0 && op !== "remove") {
    const wanted = filter === null ? {} : requiredMembers(filter);
    if (!wanted) throw new ScimRequestError("noTarget", "No value matches the filter.");
    return normalizePrimary([...before, change((parseSingleValue(attribute, wanted) ?? {}) as ScimDocument)]);
  }
  const changed = before.map((each) => (matching.includes(each) ? change(each) : each));
  const newer = changed.filter((each) => !before.includes(each));
  return normalizePrimary(
    changed.filter((each) => !isEmpty(each)),
    newer,
  );
}

function isSameValue(one: ScimDocument, other: ScimDocument): boolean {
  const plain = ({ primary: _primary, ...rest }: ScimDocument): string => JSON.stringify(Object.entries(rest).sort());
  return plain(one) === plain(other);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
}

function readMember(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
}
