import { invalidValue, requiredValue } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { isUuid } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { type Field, uuid } from "../../schema/field.ts";
import type { AnyResource, ResourcePath, RowOf } from "../../schema/resource.ts";
import { type ApiRequest, deletedResponse, type GuardedAction } from "../action.ts";

/** An association: rows of one resource that can be added to and removed from another row by id. */
export interface Association<R extends AnyResource> {
  at: string;
  /** Placeholder of the id of an associated row. */
  idParam: string;
  /** Resource of the associated rows. */
  resource: R;
  docs: Readonly<Record<"list" | "one" | "add" | "remove", string>>;
  /** Additional query parameters of the list. */
  query?: Readonly<Record<string, Field>>;
  /** Additional fields of the POST body beside `id`. */
  accepts?: Readonly<Record<string, Field>>;
  list(request: ApiRequest): Promise<HttpResponse>;
  /** The associated row in the path. Throws not-found. */
  find(request: ApiRequest): RowOf<R>;
  /** Adds the row `id` (lower case) and returns it. */
  add(request: ApiRequest, id: string): Promise<RowOf<R>>;
  remove(request: ApiRequest, row: RowOf<R>): Promise<void>;
}

const ID = uuid("Id of the row to add.", { required: true });

/** The four endpoints of an association: list, get, add (`{id}` in the body), remove. */
export function associationActions<R extends AnyResource>(of: Association<R>): GuardedAction[] {
  const { at, idParam, resource, docs, query = {}, accepts, ...links } = of;
  const rowPath: ResourcePath = { at, methods: ["get", "delete"] };
  const item = `${at}/{${idParam}}`;
  return [
    { method: "get", at, rowPath, doc: docs.list, query, response: { kind: "list", resource }, handle: links.list },
    {
      method: "get",
      at: item,
      rowPath,
      doc: docs.one,
      response: { kind: "row", resource },
      handle: async (request) => request.respondWithRow(resource, links.find(request)),
    },
    {
      method: "post",
      at,
      rowPath,
      doc: docs.add,
      response: { kind: "row", resource },
      accepts: { id: ID, ...accepts },
      handle: async (request) => request.respondWithRow(resource, await links.add(request, bodyId(request))),
    },
    {
      method: "delete",
      at: item,
      doc: docs.remove,
      response: { kind: "deletion" },
      async handle(request) {
        const row = links.find(request);
        await links.remove(request, row);
        return deletedResponse(row.id);
      },
    },
  ];
}

/** Id in the body. Throws required, invalid-value. */
function bodyId({ body: { id } }: ApiRequest): string {
  if (id === undefined || id === null || id === "") throw requiredValue("id");
  if (!isUuid(id)) throw invalidValue("id", sentence("field.must-be-a-uuid"));
  return (id as string).toLowerCase();
}
