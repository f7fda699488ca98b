import { notFound } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { type AttributeSelection, parseAttributeSelection } from "../../scim/attribute-selection.ts";
import { resourceTypes, SCIM_LIMITS, schemas, serviceProviderConfig } from "../../scim/discovery.ts";
import { matchesEtag } from "../../scim/etag.ts";
import type { ScimListQuery } from "../../scim/resource-list.ts";
import { ScimRequestError } from "../../scim/scim-error.ts";
import type { SerializedResource } from "../../scim/serializer.ts";
import type { ScimResourceHandler, ScimServer } from "../../scim/server.ts";
import type { ActorContext } from "../../store/store.ts";
import { MethodNotAllowedError } from "../error-response.ts";

/** Content type of everything that SCIM sends. @source RFC 7644 §3.1 */
export const SCIM_TYPE = "application/scim+json";
const LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
const SEARCH = ".search";
const ME_NOT_IMPLEMENTED = {
  schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
  status: "501",
  detail: "/Me is not supported: a directory token belongs to no user.",
};
const DEFAULT_COUNT = 100;

/** A request of a known directory. */
export interface ScimRequest {
  /** In capitals. */
  method: string;
  /** Below the base, with a leading slash: `/Users/0190…`. */
  path: string;
  query: URLSearchParams;
  body: unknown;
  ifMatch: string | null;
  ifNoneMatch: string | null;
  by: ActorContext;
}

/** Serves all requests except bulk. Throws not-found, MethodNotAllowedError, ScimRequestError and store errors. */
export async function serveScim(scim: ScimServer, request: ScimRequest): Promise<HttpResponse> {
  const [first = "", id = "", ...more] = request.path.split("/").slice(1).map(decoded);
  if (more.length > 0) throw notFound();
  const handler = scim.handlers.find(({ type }) => type.endpoint === `/${first}`);
  if (!handler) return describeService(scim.baseUrl(), first, id, request);
  if (id === "") return serveCollection(handler, request);
  if (id === SEARCH) return search(handler, request);
  return serveOne(handler, id.toLowerCase(), request);
}

async function serveCollection(handler: ScimResourceHandler, request: ScimRequest): Promise<HttpResponse> {
  const { method, query, body, by } = request;
  if (method === "POST") return scimResponse(await handler.create({ body, by }, shapeOf(handler, query)), 201);
  if (method === "GET") return list(handler, query);
  throw new MethodNotAllowedError("GET, POST");
}

async function serveOne(handler: ScimResourceHandler, id: string, request: ScimRequest): Promise<HttpResponse> {
  const { method, query, ifNoneMatch } = request;
  const shape = shapeOf(handler, query);
  switch (method) {
    case "GET": {
      const found = await handler.get(id, shape);
      const isKnown = ifNoneMatch !== null && matchesEtag(ifNoneMatch, found.version);
      return isKnown ? { status: 304, headers: { ETag: found.version }, body: null } : scimResponse(found);
    }
    case "PUT":
      return scimResponse(await handler.replace(id, request, shape));
    case "PATCH":
      return patchResource(handler, id, request, shape);
    case "DELETE":
      await handler.remove(id, request);
      return { status: 204, body: null };
    default:
      throw new MethodNotAllowedError("GET, PUT, PATCH, DELETE");
  }
}

/**
 * A PATCH of a group returns no body unless requested, because groups may have very many members.
 * @source RFC 7644 §3.5.2
 */
async function patchResource(
  handler: ScimResourceHandler,
  id: string,
  request: ScimRequest,
  shape: AttributeSelection,
): Promise<HttpResponse> {
  const isMinimal = handler.type.name === "Group" && !request.query.has("attributes");
  const after = await handler.patch(id, request, isMinimal ? parseAttributeSelection(handler.type, "id", null) : shape);
  if (!isMinimal) return scimResponse(after);
  return { status: 204, headers: { ETag: after.version, Location: after.location }, body: null };
}

/** @source RFC 7644 §3.4.3 */
function search(handler: ScimResourceHandler, { method, body }: ScimRequest): Promise<HttpResponse> {
  if (method !== "POST") throw new MethodNotAllowedError("POST");
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries((body ?? {}) as Record<string, unknown>)) {
    if (name !== "schemas" && value !== null) query.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  return list(handler, query);
}

async function list(handler: ScimResourceHandler, query: URLSearchParams): Promise<HttpResponse> {
  const listQuery = scimListQuery(query);
  const { total, texts } = await handler.list(listQuery, shapeOf(handler, query));
  return listResponse(total, listQuery.startIndex, texts);
}

function listResponse(total: number, startIndex: number, texts: readonly string[]): HttpResponse {
  const head = { schemas: [LIST], totalResults: total, startIndex, itemsPerPage: texts.length };
  return { type: SCIM_TYPE, body: `${JSON.stringify(head).slice(0, -1)},"Resources":[${texts.join(",")}]}` };
}

/** Discovery endpoints; /Me is not supported because tokens belong to directories. @source RFC 7644 §4, §3.11 */
function describeService(base: string, name: string, id: string, { method, query }: ScimRequest): HttpResponse {
  if (name === "Me") return { status: 501, type: SCIM_TYPE, body: JSON.stringify(ME_NOT_IMPLEMENTED) };
  const descriptors = name === "ResourceTypes" ? resourceTypes(base) : name === "Schemas" ? schemas(base) : null;
  if (!descriptors && (name !== "ServiceProviderConfig" || id !== "")) throw notFound();
  if (method !== "GET") throw new MethodNotAllowedError("GET");
  if (query.has("filter")) throw forbiddenFilter();
  if (!descriptors) return { type: SCIM_TYPE, body: JSON.stringify(serviceProviderConfig(base)) };
  if (id === "")
    return listResponse(
      descriptors.length,
      1,
      descriptors.map((each) => JSON.stringify(each)),
    );
  const one = descriptors.find((each) => each.id.toLowerCase() === id.toLowerCase());
  if (!one) throw notFound();
  return { type: SCIM_TYPE, body: JSON.stringify(one) };
}

function forbiddenFilter(): ScimRequestError {
  return new ScimRequestError("invalidFilter", "Filters are not supported for this endpoint.");
}

function scimResponse({ text, version, location }: SerializedResource, status = 200): HttpResponse {
  return { status, type: SCIM_TYPE, headers: { ETag: version, Location: location }, body: text };
}

function shapeOf({ type }: ScimResourceHandler, query: URLSearchParams): AttributeSelection {
  return parseAttributeSelection(type, query.get("attributes"), query.get("excludedAttributes"));
}

/** @source RFC 7644 §3.4.2.4: less than 1 means 1, a negative count means 0 */
function scimListQuery(query: URLSearchParams): ScimListQuery {
  const order = query.get("sortOrder")?.toLowerCase() ?? "ascending";
  if (order !== "ascending" && order !== "descending") {
    throw new ScimRequestError("invalidValue", "sortOrder must be ascending or descending.");
  }
  return {
    filter: query.get("filter") || null,
    sortBy: query.get("sortBy") || null,
    descending: order === "descending",
    startIndex: Math.max(1, integerParameter(query, "startIndex") ?? 1),
    count: Math.min(SCIM_LIMITS.page, Math.max(0, integerParameter(query, "count") ?? DEFAULT_COUNT)),
  };
}

function integerParameter(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null || text === "") return null;
  if (!/^-?\d{1,9}$/.test(text)) throw new ScimRequestError("invalidValue", `${name} must be an integer.`);
  return Number(text);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw notFound();
  }
}
