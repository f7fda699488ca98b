import { BugError, invalidValue, notFound, requiredValue } from "../base/errors.ts";
import { isUuid } from "../base/ids.ts";
import { methodsOf, pathParams } from "../schema/catalogue.ts";
import { type FileFieldData, type StoredFile, uuid } from "../schema/field.ts";
import type { AnyResource, Deprecation, ResourcePath, RowBase } from "../schema/resource.ts";
import { type Answer, type ApiRequest, deleted, type GuardedAction } from "./action.ts";
import { requireMatch } from "./etag.ts";
import { askedFile, fileQuery } from "./file-answer.ts";
import type { AnswerShape } from "./openapi/answer-shape.ts";
import type { Presenter, Showing } from "./presenter.ts";
import { singleText } from "./query.ts";
import type { Row } from "./representation.ts";
import { collectionOf, findRow, parentIds, requireParents, restrictionOf, rowOf, type Served } from "./served-path.ts";

/** A request that a generic operation answers; it shows rows as they stand at its own path. */
export interface RowRequest extends ApiRequest {
  readonly presenter: Presenter;
}

/** A generic operation, as an action of the engine's own. */
export interface RowOperation extends GuardedAction {
  /** Path that permission is asked for instead of the requested one. */
  judgedPath?: (path: string) => string;
  /** Completes the request once its body is read, before permission is asked. */
  complete?: (request: RowRequest) => RowRequest;
}

/** The generic operations of one path of a resource: on the collection, on items, and the bytes of file fields. */
export function rowOperations(resource: AnyResource, path: ResourcePath): RowOperation[] {
  const served: Served = {
    resource,
    path,
    parents: pathParams(path),
    idName: path.itemBy ?? resource.idParam,
  };
  const item = `${path.at}/{${served.idName}}`;
  const sees: RowOperation["sees"] = (request, scope) => findRow(served, request, scope) !== null;
  const one: AnswerShape = { kind: "row", resource };
  const operations: RowOperation[] = [];
  for (const method of methodsOf(path)) {
    if (method === "get") {
      const answers: AnswerShape = { kind: "list", resource };
      operations.push({
        method,
        at: path.at,
        ...DOCS.list,
        answers,
        handle: (request: RowRequest) => list(served, request),
      });
      operations.push({
        method,
        at: item,
        ...DOCS.get,
        answers: one,
        sees,
        handle: (request: RowRequest) => get(served, request),
      });
      operations.push(...downloads(served, item, sees));
    } else if (method === "post") {
      const accepts = resource.fields;
      operations.push({
        ...{ method, at: path.at, ...DOCS.create, answers: one, accepts, rehearses: true },
        handle: (request: RowRequest) => create(served, request),
      });
    } else operations.push(...changes(served, method, item, sees));
  }
  return path.deprecated
    ? operations.map((each) => ({ ...each, deprecated: path.deprecated as Deprecation }))
    : operations;
}

const DOCS = {
  list: { doc: "Lists what the caller may see." },
  get: { doc: "Shows one." },
  create: { doc: "Makes one." },
  put: { doc: "Changes the members given; null clears.", headers: ["If-Match"] },
  delete: { doc: "Deletes one.", headers: ["If-Match"] },
  hide: { doc: "Takes one out of the user's own list." },
} as const;

/** How the query of such a request names the item. */
export const GIVEN_ID = { id: uuid("Which one, when the body does not say.") };

/** PUT or DELETE, on the item and with its id in body or query. */
function changes(served: Served, method: "put" | "delete", item: string, sees: RowOperation["sees"]): RowOperation[] {
  const { resource, path } = served;
  const handle = method === "put" ? update : path.through ? hide : remove;
  const told = method === "put" ? DOCS.put : path.through ? DOCS.hide : DOCS.delete;
  const accepts = method === "put" ? resource.fields : {};
  const answers: AnswerShape = method === "put" ? { kind: "row", resource } : { kind: "deletion" };
  const rehearses = told !== DOCS.hide;
  const shared = { method, ...told, answers, accepts, rehearses, ...(sees ? { sees } : {}) };
  const run = (request: RowRequest): Promise<Answer> => handle(served, request);
  return [
    { ...shared, at: item, handle: run },
    {
      ...shared,
      at: path.at,
      query: GIVEN_ID,
      complete: (request) => withIdGiven(served.idName, request),
      handle: run,
    },
  ];
}

async function list(served: Served, request: RowRequest) {
  requireParents(served, request);
  return request.presenter.list(served.resource, restrictionOf(served, request), showingOf(served, request));
}

async function get(served: Served, request: RowRequest) {
  return request.presenter.show(served.resource, rowOf(served, request), showingOf(served, request));
}

async function create(served: Served, request: RowRequest) {
  requireParents(served, request);
  const row = await request.needs.store.create(served.resource, withParents(served, request), request.by);
  return request.presenter.show(served.resource, row as unknown as Row, showingOf(served, request));
}

async function update(served: Served, request: RowRequest) {
  const { resource } = served;
  const { store } = request.needs;
  const found = rowOf(served, request);
  const { id: _id, ...input } = withParents(served, request);
  const row = await store.update(resource, found.id, input, request.by, undefined, matching(request));
  return request.presenter.show(resource, row as unknown as Row, showingOf(served, request));
}

/** What refuses a row that is no longer the one which If-Match names: it may change until its transaction. */
function matching(request: RowRequest): ((row: RowBase) => void) | undefined {
  const ifMatch = request.header("if-match");
  return ifMatch ? (row) => requireMatch(ifMatch, row) : undefined;
}

async function remove(served: Served, request: RowRequest) {
  const { store } = request.needs;
  const { id } = rowOf(served, request);
  requireSameId(served, request);
  await store.remove(served.resource, id, request.by, matching(request));
  return deleted(id);
}

/** Takes a row out of somebody's own list; the row itself stays. */
async function hide(served: Served, request: RowRequest) {
  const { store, catalogue, clock } = request.needs;
  const { through } = served.path;
  if (!through?.hiddenBy) throw new BugError(`A DELETE of ${served.path.at} needs through.hiddenBy.`);
  const { id } = rowOf(served, request);
  const link = catalogue.byName(through.resource);
  const [row] = store.find(link, { ...request.params, [served.idName]: undefined, [through.via]: id } as object, 1);
  if (!row) throw notFound();
  await store.update(link, row.id, {}, request.by, { [through.hiddenBy]: clock.now() } as object);
  return deleted(id);
}

function downloads(served: Served, item: string, sees: RowOperation["sees"]): RowOperation[] {
  const names = Object.entries(served.resource.fields).filter(([, field]) => field.kind === "file");
  return names.map(([name, field]) => ({
    method: "get",
    at: `${item}/${name}`,
    doc: `The bytes of ${name}.`,
    query: fileQuery(field as FileFieldData),
    answers: { kind: "bytes", types: (field as FileFieldData).types },
    ...(sees ? { sees } : {}),
    // A row's file is part of the row.
    judgedPath: (path) => path.slice(0, path.lastIndexOf("/")),
    async handle(request) {
      const file = rowOf(served, request)[name] as StoredFile | null;
      if (!file) throw notFound();
      return askedFile(file, field as FileFieldData, request.query, request.needs);
    },
  }));
}

function showingOf(served: Served, request: RowRequest): Showing {
  const { by, query, params } = request;
  return { by, query, params, place: { path: served.path, collection: collectionOf(served, request) } };
}

/** The body with the ids that the path names. */
function withParents(served: Served, request: RowRequest): Record<string, unknown> {
  const input: Record<string, unknown> = { ...request.body };
  if (request.params[served.idName] !== undefined) requireSameId(served, request);
  if (served.path.through) return input;
  return Object.assign(input, parentIds(served, request));
}

function requireSameId({ idName }: Served, { body, params }: ApiRequest): void {
  const { id } = body;
  if (id === undefined) return;
  if (typeof id !== "string" || id.toLowerCase() !== params[idName]) {
    throw invalidValue("id", "It is not the id in the path.");
  }
}

/** PUT and DELETE on the collection name the item by `id` in body or query. Throws required, invalid-value. @source decisions.md 1 */
export function withIdGiven(idName: string, request: RowRequest): RowRequest {
  const id = request.body.id ?? singleText(request.query, "id") ?? "";
  if (id === "") throw requiredValue("id");
  if (!isUuid(id)) throw invalidValue("id", "It must be a UUID.");
  const path = `${request.path}/${id.toLowerCase()}`;
  return { ...request, path, params: { ...request.params, [idName]: id.toLowerCase() } };
}
