import { PASSED_OVER } from "./attributes.ts";
import {
  checkSize,
  type Document,
  extensionOf,
  isObject,
  onePrimary,
  type ResourceType,
  readOne,
  readValue,
  type Target,
  targetOf,
} from "./document.ts";
import { type Filter, parseFilter } from "./filter.ts";
import { matches, wantedBy } from "./matches.ts";
import { ScimRefusal } from "./refusal.ts";

/** One change that a PATCH asks for. */
export interface Operation {
  op: "add" | "replace" | "remove";
  path: string | null;
  value: unknown;
}

/** Where an operation acts: an attribute, of a multi-valued one the values that the filter names. */
export interface Place extends Target {
  filter: Filter | null;
}

/** own choice */
const MOST_OPERATIONS = 1_000;

/** Reads the operations of a PATCH; names in any case. Throws ScimRefusal `invalidSyntax`. @source RFC 7644 §3.5.2 */
export function readOperations(body: unknown): Operation[] {
  const given = isObject(body) ? memberOf(body, "operations") : null;
  if (!Array.isArray(given) || given.length === 0 || given.length > MOST_OPERATIONS) {
    throw new ScimRefusal("invalidSyntax", `A PATCH has a list of Operations, 1 to ${MOST_OPERATIONS}.`);
  }
  return given.map((each) => {
    const op = isObject(each) ? String(memberOf(each, "op")).toLowerCase() : "";
    if (!isObject(each) || (op !== "add" && op !== "replace" && op !== "remove")) {
      throw new ScimRefusal("invalidSyntax", "An operation is add, replace or remove.");
    }
    const path = memberOf(each, "path") ?? null;
    if (path !== null && typeof path !== "string") throw new ScimRefusal("invalidPath", "A path is a text.");
    return { op, path: path === "" ? null : path, value: memberOf(each, "value") };
  });
}

/**
 * The place that a path names; null for what is understood and not kept. Throws ScimRefusal `invalidPath`, `invalidFilter`,
 * and `mutability` for what only this side writes.
 */
function placeOf(type: ResourceType, path: string): Place | null {
  const open = path.indexOf("[");
  const close = path.lastIndexOf("]");
  const hasFilter = open > 0 && close > open;
  const plain = hasFilter ? path.slice(0, open) + path.slice(close + 1) : path;
  const target = targetOf(type, plain);
  if (!target) {
    if (PASSED_OVER.has((plain.split(".")[0] ?? "").toLowerCase())) return null;
    throw new ScimRefusal("invalidPath", `There is no attribute ${plain}.`);
  }
  const { attribute, sub } = target;
  if (attribute.mutability === "readOnly" || sub?.mutability === "readOnly") {
    throw new ScimRefusal("mutability", `Attribute ${plain} can't be changed.`);
  }
  if (hasFilter && !attribute.multiValued) throw new ScimRefusal("invalidPath", `${plain} has one value.`);
  return { ...target, filter: hasFilter ? parseFilter(path.slice(open + 1, close)) : null };
}

/**
 * What a document is after the operations, in order; the given one stays as it is. own choice: an operation on a value that
 * a filter of equalities describes and that is not there makes it, as some directories expect. Throws ScimRefusal.
 */
export function patchDocument(type: ResourceType, document: Document, operations: readonly Operation[]): Document {
  const patched = structuredClone(document);
  for (const operation of operations) apply(type, patched, operation);
  checkSize(patched);
  return patched;
}

function apply(type: ResourceType, document: Document, operation: Operation): void {
  const { op, path, value } = operation;
  const extension = path === null ? null : extensionOf(type, path);
  if (path !== null && !extension) {
    const place = placeOf(type, path);
    if (place) applyAt(document, op, place, value);
  } else if (op !== "remove") {
    if (!isObject(value)) throw new ScimRefusal("invalidValue", "Without a path the value is an object.");
    applyMembers(type, document, op, value, extension?.id ?? null);
  } else if (extension) {
    delete document[extension.id];
  } else {
    throw new ScimRefusal("noTarget", "What is to be removed is named by a path.");
  }
}

/** Members may be dotted paths, or an extension's URN. own choice: what is not known or only read here is passed over. */
function applyMembers(
  type: ResourceType,
  document: Document,
  op: "add" | "replace",
  members: Readonly<Record<string, unknown>>,
  urn: string | null,
): void {
  for (const [name, value] of Object.entries(members)) {
    const extension = urn === null ? extensionOf(type, name) : null;
    if (extension && isObject(value)) applyMembers(type, document, op, value, extension.id);
    const path = urn === null ? name : `${urn}:${name}`;
    const target = targetOf(type, path);
    const place = name.includes("[") ? placeOf(type, path) : target && { ...target, filter: null };
    if (place && place.attribute.mutability !== "readOnly") applyAt(document, op, place, value);
  }
}

function applyAt(document: Document, op: Operation["op"], place: Place, value: unknown): void {
  const { extension, attribute, sub } = place;
  const holder = extension === null ? document : ((document[extension] ?? {}) as Document);
  const before = holder[attribute.name];
  let after: unknown;
  if (attribute.multiValued) after = changedValues(op, place, (before as Document[]) ?? [], value);
  else if (sub) after = changedMember(op, place, (before as Document) ?? {}, value);
  else if (op === "remove") after = undefined;
  else {
    const read = readValue(attribute, value);
    after = isObject(read) && isObject(before) ? { ...before, ...read } : read;
  }
  if (isEmpty(after)) delete holder[attribute.name];
  else holder[attribute.name] = after;
  if (extension === null) return;
  if (isEmpty(holder)) delete document[extension];
  else document[extension] = holder;
}

function changedMember(op: Operation["op"], { sub }: Place, before: Document, value: unknown): Document {
  const { [sub?.name ?? ""]: _old, ...others } = before;
  const read = op === "remove" || !sub ? undefined : readValue(sub, value);
  return read === undefined || !sub ? others : { ...others, [sub.name]: read };
}

function changedValues(op: Operation["op"], place: Place, before: readonly Document[], value: unknown): Document[] {
  const { attribute, sub, filter } = place;
  const concerned = before.filter((each) => filter === null || matches(filter, each));
  if (filter === null && !sub) {
    const given = (readValue(attribute, value) ?? []) as Document[];
    if (op === "replace") return given;
    if (op === "add")
      return onePrimary([...before, ...given.filter((each) => !before.some((old) => isSame(old, each)))]);
    // Some directories name what is to go by the value instead of a filter.
    return given.length === 0 ? [] : before.filter((each) => !given.some((old) => old.value === each.value));
  }
  if (op === "remove" && !sub) return before.filter((each) => !concerned.includes(each));
  const change = (each: Document): Document => {
    if (sub) return changedMember(op, place, each, value);
    return { ...(op === "replace" ? {} : each), ...((readOne(attribute, value) ?? {}) as Document) };
  };
  if (concerned.length === 0 && op !== "remove") {
    const wanted = filter === null ? {} : wantedBy(filter);
    if (!wanted) throw new ScimRefusal("noTarget", "No value fulfils the filter.");
    return onePrimary([...before, change((readOne(attribute, wanted) ?? {}) as Document)]);
  }
  const changed = before.map((each) => (concerned.includes(each) ? change(each) : each));
  const newer = changed.filter((each) => !before.includes(each));
  return onePrimary(
    changed.filter((each) => !isEmpty(each)),
    newer,
  );
}

function isSame(one: Document, other: Document): boolean {
  const plain = ({ primary: _primary, ...rest }: Document): string => JSON.stringify(Object.entries(rest).sort());
  return plain(one) === plain(other);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

function memberOf(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
}
