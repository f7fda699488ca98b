import {
  type AttributeTarget,
  assertDocumentSize,
  findExtension,
  isJsonObject,
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

/** One change that a PATCH asks for. */
export interface PatchOperation {
  op: "add" | "replace" | "remove";
  path: string | null;
  value: unknown;
}

/** Where an operation acts: an attribute, of a multi-valued one the values that the filter names. */
export interface PatchTarget extends AttributeTarget {
  filter: ScimFilter | null;
}

/** own choice */
const MAX_OPERATIONS = 1_000;

/** Reads the operations of a PATCH; names in any case. Throws ScimRequestError `invalidSyntax`. @source RFC 7644 §3.5.2 */
export function parsePatchOperations(body: unknown): PatchOperation[] {
  const given = isJsonObject(body) ? readMember(body, "operations") : null;
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_OPERATIONS) {
    throw new ScimRequestError("invalidSyntax", `A PATCH has a list of Operations, 1 to ${MAX_OPERATIONS}.`);
  }
  return given.map((each) => {
    const op = isJsonObject(each) ? String(readMember(each, "op")).toLowerCase() : "";
    if (!isJsonObject(each) || (op !== "add" && op !== "replace" && op !== "remove")) {
      throw new ScimRequestError("invalidSyntax", "An operation is add, replace or remove.");
    }
    const path = readMember(each, "path") ?? null;
    if (path !== null && typeof path !== "string") throw new ScimRequestError("invalidPath", "A path is a text.");
    return { op, path: path === "" ? null : path, value: readMember(each, "value") };
  });
}

/**
 * The place that a path names; null for what is understood and not kept. Throws ScimRequestError `invalidPath`, `invalidFilter`,
 * and `mutability` for what only this side writes.
 */
function resolvePatchTarget(type: ScimResourceType, path: string): PatchTarget | null {
  const open = path.indexOf("[");
  const close = path.lastIndexOf("]");
  const hasFilter = open > 0 && close > open;
  const plain = hasFilter ? path.slice(0, open) + path.slice(close + 1) : path;
  const target = resolveAttribute(type, plain);
  if (!target) {
    if (IGNORED_ATTRIBUTES.has((plain.split(".")[0] ?? "").toLowerCase())) return null;
    throw new ScimRequestError("invalidPath", `There is no attribute ${plain}.`);
  }
  const { attribute, sub } = target;
  if (attribute.mutability === "readOnly" || sub?.mutability === "readOnly") {
    throw new ScimRequestError("mutability", `Attribute ${plain} can't be changed.`);
  }
  if (hasFilter && !attribute.multiValued) throw new ScimRequestError("invalidPath", `${plain} has one value.`);
  return { ...target, filter: hasFilter ? parseScimFilter(path.slice(open + 1, close)) : null };
}

/**
 * What a document is after the operations, in order; the given one stays as it is. own choice: an operation on a value that
 * a filter of equalities describes and that is not there makes it, as some directories expect. Throws ScimRequestError.
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
    const place = resolvePatchTarget(type, path);
    if (place) applyToTarget(document, op, place, value);
  } else if (op !== "remove") {
    if (!isJsonObject(value)) throw new ScimRequestError("invalidValue", "Without a path the value is an object.");
    applyObject(type, document, op, value, extension?.id ?? null);
  } else if (extension) {
    delete document[extension.id];
  } else {
    throw new ScimRequestError("noTarget", "What is to be removed is named by a path.");
  }
}

/** Members may be dotted paths, or an extension's URN. own choice: what is not known or only read here is passed over. */
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
    const target = resolveAttribute(type, path);
    const place = name.includes("[") ? resolvePatchTarget(type, path) : target && { ...target, filter: null };
    if (place && place.attribute.mutability !== "readOnly") applyToTarget(document, op, place, value);
  }
}

function applyToTarget(document: ScimDocument, op: PatchOperation["op"], place: PatchTarget, value: unknown): void {
  const { extension, attribute, sub } = place;
  const holder = extension === null ? document : ((document[extension] ?? {}) as ScimDocument);
  const before = holder[attribute.name];
  let after: unknown;
  if (attribute.multiValued) after = patchValues(op, place, (before as ScimDocument[]) ?? [], value);
  else if (sub) after = patchMember(op, place, (before as ScimDocument) ?? {}, value);
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
  place: PatchTarget,
  before: readonly ScimDocument[],
  value: unknown,
): ScimDocument[] {
  const { attribute, sub, filter } = place;
  const concerned = before.filter((each) => filter === null || matchesScimFilter(filter, each));
  if (filter === null && !sub) {
    const given = (parseAttributeValue(attribute, value) ?? []) as ScimDocument[];
    if (op === "replace") return given;
    if (op === "add")
      return normalizePrimary([...before, ...given.filter((each) => !before.some((old) => isSameValue(old, each)))]);
    // Some directories name what is to go by the value instead of a filter.
    return given.length === 0 ? [] : before.filter((each) => !given.some((old) => old.value === each.value));
  }
  if (op === "remove" && !sub) return before.filter((each) => !concerned.includes(each));
  const change = (each: ScimDocument): ScimDocument => {
    if (sub) return patchMember(op, place, each, value);
    return { ...(op === "replace" ? {} : each), ...((parseSingleValue(attribute, value) ?? {}) as ScimDocument) };
  };
  if (concerned.length === 0 && op !== "remove") {
    const wanted = filter === null ? {} : requiredMembers(filter);
    if (!wanted) throw new ScimRequestError("noTarget", "No value fulfils the filter.");
    return normalizePrimary([...before, change((parseSingleValue(attribute, wanted) ?? {}) as ScimDocument)]);
  }
  const changed = before.map((each) => (concerned.includes(each) ? change(each) : each));
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
