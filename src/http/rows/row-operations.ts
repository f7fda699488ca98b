import { BugError, invalidValue, notFound, requiredValue } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { isUuid } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { methodsOf, pathParams } from "../../schema/catalogue.ts";
import { type FileFieldData, type StoredFile, uuid } from "../../schema/field.ts";
import type { AnyResource, Deprecation, ResourcePath, RowBase } from "../../schema/resource.ts";
import { type ApiRequest, deletedResponse, type GuardedAction } from "../action.ts";
import { addMembers } from "../actions/add-members.ts";
import { assertIfMatch } from "../etag.ts";
import { fileQuery, requestedFileResponse } from "../file-response.ts";
import type { ResponseShape } from "../openapi/response-shape.ts";
import { textParameter } from "../query/query.ts";
import { isDryRun } from "./dry-run.ts";
import { assertChangeKeepsReach, assertRemovable, DETACH_QUERY, ordinaryUses } from "./in-use.ts";
import type { PresentationContext, Presenter } from "./presenter.ts";
import type { UntypedRow } from "./representation.ts";
import {
  collectionOf,
  findRow,
  parentIds,
  pathRestriction,
  requireParents,
  requireRow,
  type ServedPath,
} from "./served-path.ts";

/** A request to a generic operation. */
export interface RowRequest extends ApiRequest {
  readonly presenter: Presenter;
}

/** A generic operation. */
export interface RowOperation extends GuardedAction {
  /** Path for the permission check, if it differs from the requested path. */
  permissionPath?: (path: string) => string;
  /** Completes the request after the body is read, before the permission check. */
  completeRequest?: (request: RowRequest) => RowRequest;
}

/** Generic operations of one path of a resource: collection, items, and the content of file fields. */
export function rowOperations(resource: AnyResource, path: ResourcePath): RowOperation[] {
  const served: ServedPath = {
    resource,
    path,
    parents: pathParams(path),
    idName: path.itemBy ?? resource.idParam,
  };
  const item = `${path.at}/{${served.idName}}`;
  const isVisible: RowOperation["isVisible"] = (request, scope) => findRow(served, request, scope) !== null;
  const one: ResponseShape = { kind: "row", resource };
  const reading = resource.auditsReading ? { auditsReading: resource.name } : {};
  const operations: RowOperation[] = [];
  for (const method of methodsOf(path)) {
    if (method === "get") {
      const response: ResponseShape = { kind: "list", resource };
      operations.push({
        method,
        at: path.at,
        ...OPERATION_DOCS.list,
        response,
        ...reading,
        handle: (request: RowRequest) => list(served, request),
      });
      operations.push({
        method,
        at: item,
        ...OPERATION_DOCS.get,
        response: one,
        isVisible,
        ...reading,
        handle: (request: RowRequest) => get(served, request),
      });
      operations.push(...downloadOperations(served, item, isVisible));
    } else if (method === "post") {
      const accepts = resource.fields;
      operations.push({
        ...{ method, at: path.at, ...OPERATION_DOCS.create, response: one, accepts, supportsDryRun: true },
        handle: (request: RowRequest) => create(served, request),
      });
    } else operations.push(...changeOperations(served, method, item, isVisible));
  }
  return path.deprecated
    ? operations.map((each) => ({ ...each, deprecated: path.deprecated as Deprecation }))
    : operations;
}

const OPERATION_DOCS = {
  list: { doc: "Lists the rows visible to the caller." },
  get: { doc: "Returns one row." },
  create: { doc: "Creates a row." },
  put: { doc: "Updates the given fields; null clears a field.", headers: ["If-Match"] },
  delete: { doc: "Deletes a row.", headers: ["If-Match"] },
  hide: { doc: "Removes a row from the user's own list." },
} as const;

/** Query parameter with the id of the item. */
export const ID_PARAMETER = { id: uuid("Id of the row, if not in the body.") };

/** PUT or DELETE, on the item path and on the collection with the id in body or query. */
function changeOperations(
  served: ServedPath,
  method: "put" | "delete",
  item: string,
  isVisible: RowOperation["isVisible"],
): RowOperation[] {
  const { resource, path } = served;
  const handler = method === "put" ? update : path.through ? hideFromUser : remove;
  const docs = method === "put" ? OPERATION_DOCS.put : path.through ? OPERATION_DOCS.hide : OPERATION_DOCS.delete;
  const accepts = method === "put" ? resource.fields : {};
  const response: ResponseShape = method === "put" ? { kind: "row", resource } : { kind: "deletion" };
  const supportsDryRun = docs !== OPERATION_DOCS.hide;
  const query = docs === OPERATION_DOCS.hide ? {} : DETACH_QUERY;
  const shared = { method, ...docs, response, accepts, supportsDryRun, query, ...(isVisible ? { isVisible } : {}) };
  const run = (request: RowRequest): Promise<HttpResponse> => handler(served, request);
  return [
    { ...shared, at: item, handle: run },
    {
      ...shared,
      at: path.at,
      query: { ...ID_PARAMETER, ...query },
      completeRequest: (request) => withIdFromRequest(served.idName, request),
      handle: run,
    },
  ];
}

async function list(served: ServedPath, request: RowRequest) {
  requireParents(served, request);
  return request.presenter.presentList(
    served.resource,
    pathRestriction(served, request),
    presentationContext(served, request),
  );
}

async function get(served: ServedPath, request: RowRequest) {
  return request.presenter.presentRow(
    served.resource,
    requireRow(served, request),
    presentationContext(served, request),
  );
}

async function create(served: ServedPath, request: RowRequest) {
  requireParents(served, request);
  const row = await request.deps.store.create(served.resource, withParents(served, request), request.by);
  return request.presenter.presentRow(
    served.resource,
    row as unknown as UntypedRow,
    presentationContext(served, request),
  );
}

async function update(served: ServedPath, request: RowRequest) {
  const { resource } = served;
  const { store } = request.deps;
  const found = requireRow(served, request);
  const { id: _id, ...input } = withParents(served, request);
  await assertChangeKeepsReach(request, { resource, id: found.id }, input);
  const row = await store.update(resource, found.id, input, request.by, undefined, ifMatchGuard(request));
  return request.presenter.presentRow(resource, row as unknown as UntypedRow, presentationContext(served, request));
}

/** Refuses a row that no longer has the version of If-Match; checked within the transaction. */
function ifMatchGuard(request: RowRequest): ((row: RowBase) => void) | undefined {
  const ifMatch = request.header("if-match");
  return ifMatch ? (row) => assertIfMatch(ifMatch, row) : undefined;
}

async function remove(served: ServedPath, request: RowRequest) {
  const { store } = request.deps;
  const { id } = requireRow(served, request);
  requireSameId(served, request);
  const removal = { resource: served.resource, id };
  await assertRemovable(request, removal);
  const uses = isDryRun(request.query) ? { uses: await ordinaryUses(request, removal) } : {};
  await store.remove(served.resource, id, request.by, ifMatchGuard(request));
  return addMembers(deletedResponse(id), uses);
}

/** Hides a row from the user's own list; the row itself is kept. */
async function hideFromUser(served: ServedPath, request: RowRequest) {
  const { store, catalogue, clock } = request.deps;
  const { through } = served.path;
  if (!through?.hiddenBy) throw new BugError(`A DELETE of ${served.path.at} needs through.hiddenBy.`);
  const { id } = requireRow(served, request);
  const link = catalogue.byName(through.resource);
  const [row] = store.find(link, { ...request.params, [served.idName]: undefined, [through.via]: id } as object, 1);
  if (!row) throw notFound();
  await store.update(link, row.id, {}, request.by, { [through.hiddenBy]: clock.now() } as object);
  return deletedResponse(id);
}

function downloadOperations(served: ServedPath, item: string, visible: RowOperation["isVisible"]): RowOperation[] {
  const names = Object.entries(served.resource.fields).filter(([, field]) => field.kind === "file");
  return names.map(([name, field]) => ({
    method: "get",
    at: `${item}/${name}`,
    doc: `Returns the file ${name}.`,
    query: fileQuery(field as FileFieldData),
    response: { kind: "bytes", types: (field as FileFieldData).types },
    ...(visible ? { isVisible: visible } : {}),
    // A file is part of its row.
    permissionPath: (path) => path.slice(0, path.lastIndexOf("/")),
    async handle(request) {
      const file = requireRow(served, request)[name] as StoredFile | null;
      if (!file) throw notFound();
      return requestedFileResponse(file, field as FileFieldData, request.query, request.deps);
    },
  }));
}

function presentationContext(served: ServedPath, request: RowRequest): PresentationContext {
  const { by, query, params } = request;
  return { by, query, params, place: { path: served.path, collection: collectionOf(served, request) } };
}

/** The body with the ids of the path. */
function withParents(served: ServedPath, request: RowRequest): Record<string, unknown> {
  const input: Record<string, unknown> = { ...request.body };
  if (request.params[served.idName] !== undefined) requireSameId(served, request);
  if (served.path.through) return input;
  return Object.assign(input, parentIds(served, request));
}

function requireSameId({ idName }: ServedPath, { body, params }: ApiRequest): void {
  const { id } = body;
  if (id === undefined) return;
  if (typeof id !== "string" || id.toLowerCase() !== params[idName]) {
    throw invalidValue("id", sentence("field.must-equal-the-id-in-the-path"));
  }
}

/**
 * Takes the id of PUT and DELETE on a collection from body or query. Throws required, invalid-value.
 * @source docs/decisions/0001-lists-and-paging.md
 */
export function withIdFromRequest(idName: string, request: RowRequest): RowRequest {
  const id = request.body.id ?? textParameter(request.query, "id") ?? "";
  if (id === "") throw requiredValue("id");
  if (!isUuid(id)) throw invalidValue("id", sentence("field.must-be-a-uuid"));
  const path = `${request.path}/${id.toLowerCase()}`;
  return { ...request, path, params: { ...request.params, [idName]: id.toLowerCase() } };
}
