import { LIMITS, resourceTypes, schemas, serviceProvider } from "../access/scim/discovery.ts";
import type { ListQuery } from "../access/scim/listing.ts";
import type { Presented } from "../access/scim/presentation.ts";
import { ScimRefusal } from "../access/scim/refusal.ts";
import type { Scim, ScimKind } from "../access/scim/scim.ts";
import { readShape, type Shape } from "../access/scim/shape.ts";
import { names } from "../access/scim/version.ts";
import { notFound } from "../base/errors.ts";
import type { By } from "../store/store.ts";
import type { Answer } from "./action.ts";
import { MethodNotAllowed } from "./error-answer.ts";

/** Content type of everything that SCIM sends. @source RFC 7644 §3.1 */
export const SCIM_TYPE = "application/scim+json";
const LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
const SEARCH = ".search";
const NOBODY = {
  schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
  status: "501",
  detail: "A token of a directory is of no user.",
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
  by: By;
}

/** Serves everything but bulk requests. Throws not-found, MethodNotAllowed, ScimRefusal and what the store throws. */
export async function serveScim(scim: Scim, request: ScimRequest): Promise<Answer> {
  const [first = "", id = "", ...more] = request.path.split("/").slice(1).map(decoded);
  if (more.length > 0) throw notFound();
  const kind = scim.kinds.find(({ type }) => type.endpoint === `/${first}`);
  if (!kind) return describe(scim.base(), first, id, request);
  if (id === "") return serveCollection(kind, request);
  if (id === SEARCH) return search(kind, request);
  return serveOne(kind, id.toLowerCase(), request);
}

async function serveCollection(kind: ScimKind, request: ScimRequest): Promise<Answer> {
  const { method, query, body, by } = request;
  if (method === "POST") return shown(await kind.create({ body, by }, shapeOf(kind, query)), 201);
  if (method === "GET") return list(kind, query);
  throw new MethodNotAllowed("GET, POST");
}

async function serveOne(kind: ScimKind, id: string, request: ScimRequest): Promise<Answer> {
  const { method, query, ifNoneMatch } = request;
  const shape = shapeOf(kind, query);
  switch (method) {
    case "GET": {
      const found = await kind.get(id, shape);
      const isKnown = ifNoneMatch !== null && names(ifNoneMatch, found.version);
      return isKnown ? { status: 304, headers: { ETag: found.version }, body: null } : shown(found);
    }
    case "PUT":
      return shown(await kind.replace(id, request, shape));
    case "PATCH":
      return patched(kind, id, request, shape);
    case "DELETE":
      await kind.remove(id, request);
      return { status: 204, body: null };
    default:
      throw new MethodNotAllowed("GET, PUT, PATCH, DELETE");
  }
}

/** own choice: of a group, which may have very many members, nothing is told back unless the client asks. @source RFC 7644 §3.5.2 */
async function patched(kind: ScimKind, id: string, request: ScimRequest, shape: Shape): Promise<Answer> {
  const isQuiet = kind.type.name === "Group" && !request.query.has("attributes");
  const after = await kind.patch(id, request, isQuiet ? readShape(kind.type, "id", null) : shape);
  if (!isQuiet) return shown(after);
  return { status: 204, headers: { ETag: after.version, Location: after.location }, body: null };
}

/** @source RFC 7644 §3.4.3 */
function search(kind: ScimKind, { method, body }: ScimRequest): Promise<Answer> {
  if (method !== "POST") throw new MethodNotAllowed("POST");
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries((body ?? {}) as Record<string, unknown>)) {
    if (name !== "schemas" && value !== null) query.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  return list(kind, query);
}

async function list(kind: ScimKind, query: URLSearchParams): Promise<Answer> {
  const asked = listQuery(query);
  const { total, texts } = await kind.list(asked, shapeOf(kind, query));
  return listed(total, asked.startIndex, texts);
}

function listed(total: number, startIndex: number, texts: readonly string[]): Answer {
  const head = { schemas: [LIST], totalResults: total, startIndex, itemsPerPage: texts.length };
  return { type: SCIM_TYPE, body: `${JSON.stringify(head).slice(0, -1)},"Resources":[${texts.join(",")}]}` };
}

/** What describes the service; no directory's token is of somebody who would be /Me. @source RFC 7644 §4, §3.11 */
function describe(base: string, name: string, id: string, { method, query }: ScimRequest): Answer {
  if (name === "Me") return { status: 501, type: SCIM_TYPE, body: JSON.stringify(NOBODY) };
  const told = name === "ResourceTypes" ? resourceTypes(base) : name === "Schemas" ? schemas(base) : null;
  if (!told && (name !== "ServiceProviderConfig" || id !== "")) throw notFound();
  if (method !== "GET") throw new MethodNotAllowed("GET");
  if (query.has("filter")) throw forbiddenFilter();
  if (!told) return { type: SCIM_TYPE, body: JSON.stringify(serviceProvider(base)) };
  if (id === "")
    return listed(
      told.length,
      1,
      told.map((each) => JSON.stringify(each)),
    );
  const one = told.find((each) => each.id.toLowerCase() === id.toLowerCase());
  if (!one) throw notFound();
  return { type: SCIM_TYPE, body: JSON.stringify(one) };
}

function forbiddenFilter(): ScimRefusal {
  return new ScimRefusal("invalidFilter", "What describes the service can't be filtered.");
}

function shown({ text, version, location }: Presented, status = 200): Answer {
  return { status, type: SCIM_TYPE, headers: { ETag: version, Location: location }, body: text };
}

function shapeOf({ type }: ScimKind, query: URLSearchParams): Shape {
  return readShape(type, query.get("attributes"), query.get("excludedAttributes"));
}

/** @source RFC 7644 §3.4.2.4: less than 1 means 1, a negative count means 0. */
function listQuery(query: URLSearchParams): ListQuery {
  const order = query.get("sortOrder")?.toLowerCase() ?? "ascending";
  if (order !== "ascending" && order !== "descending") {
    throw new ScimRefusal("invalidValue", "sortOrder is ascending or descending.");
  }
  return {
    filter: query.get("filter") || null,
    sortBy: query.get("sortBy") || null,
    descending: order === "descending",
    startIndex: Math.max(1, wholeNumber(query, "startIndex") ?? 1),
    count: Math.min(LIMITS.page, Math.max(0, wholeNumber(query, "count") ?? DEFAULT_COUNT)),
  };
}

function wholeNumber(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null || text === "") return null;
  if (!/^-?\d{1,9}$/.test(text)) throw new ScimRefusal("invalidValue", `${name} is a whole number.`);
  return Number(text);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw notFound();
  }
}
