import { CallerError } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { isJsonObject } from "../../lib/json.ts";
import { SCIM_LIMITS } from "../../scim/discovery.ts";
import { ScimRequestError } from "../../scim/scim-error.ts";
import type { ScimServer } from "../../scim/server.ts";
import { isBug } from "../error-response.ts";
import { scimErrorResponse } from "./scim-error-response.ts";
import { SCIM_TYPE, type ScimRequest, serveScim } from "./scim-requests.ts";

const RESPONSE = "urn:ietf:params:scim:api:messages:2.0:BulkResponse";
const METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

interface BulkOperation {
  method: string;
  path: string;
  bulkId: string | null;
  version: string | null;
  data: unknown;
}

/**
 * Executes bulk operations in order, independently of each other. An operation may refer to earlier ones by
 * `bulkId:`. Throws ScimRequestError `invalidSyntax`, too-large.
 * @source RFC 7644 §3.7
 */
export async function serveScimBulk(scim: ScimServer, request: ScimRequest): Promise<HttpResponse> {
  const { operations, failOnErrors } = readBulk(request.body);
  const ids = new Map<string, string>();
  const results: object[] = [];
  let failures = 0;
  for (const operation of operations) {
    const { response, location } = await execute(scim, request, operation, ids);
    const status = response.status ?? 200;
    const { method, bulkId } = operation;
    const version = response.headers?.ETag;
    results.push({
      method,
      ...(bulkId === null ? {} : { bulkId }),
      ...(location === null ? {} : { location }),
      ...(version ? { version } : {}),
      status: String(status),
      ...(status >= 400 ? { response: JSON.parse(String(response.body)) } : {}),
    });
    failures += status >= 400 ? 1 : 0;
    if (failOnErrors > 0 && failures >= failOnErrors) break;
  }
  return { type: SCIM_TYPE, body: JSON.stringify({ schemas: [RESPONSE], Operations: results }) };
}

async function execute(
  scim: ScimServer,
  { by }: ScimRequest,
  { method, path, bulkId, version, data }: BulkOperation,
  ids: Map<string, string>,
): Promise<{ response: HttpResponse; location: string | null }> {
  try {
    const resolved = resolveBulkIds(path, ids) as string;
    const response = await serveScim(scim, {
      ...{ method, path: resolved, by, body: resolveBulkIds(data, ids), ifMatch: version, ifNoneMatch: null },
      query: new URLSearchParams(),
    });
    const location = response.headers?.Location ?? `${scim.baseUrl()}${resolved}`;
    if (bulkId !== null && method === "POST") ids.set(bulkId, location.slice(location.lastIndexOf("/") + 1));
    return { response, location };
  } catch (error) {
    if (isBug(error)) throw error;
    return { response: scimErrorResponse(error), location: method === "POST" ? null : `${scim.baseUrl()}${path}` };
  }
}

/** Replaces `bulkId:` references by the ids of created resources. Throws ScimRequestError `invalidValue`. */
function resolveBulkIds(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") {
    return value.replace(/(^|\/)bulkId:([^/]+)/g, (_all, before: string, name: string) => {
      const id = ids.get(name);
      if (id === undefined)
        throw new ScimRequestError("invalidValue", `bulkId ${name} not found in earlier operations.`);
      return `${before}${id}`;
    });
  }
  if (Array.isArray(value)) return value.map((each) => resolveBulkIds(each, ids));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolveBulkIds(each, ids)]));
}

function readBulk(body: unknown): { operations: BulkOperation[]; failOnErrors: number } {
  const given = isJsonObject(body) ? body.Operations : null;
  if (!isJsonObject(body) || !Array.isArray(given) || given.length === 0) {
    throw new ScimRequestError("invalidSyntax", "A bulk request must contain a list of Operations.");
  }
  if (given.length > SCIM_LIMITS.operations) {
    throw new CallerError("too-large", `A bulk request must have at most ${SCIM_LIMITS.operations} operations.`);
  }
  const { failOnErrors = 0 } = body;
  if (!Number.isInteger(failOnErrors)) throw new ScimRequestError("invalidSyntax", "failOnErrors must be an integer.");
  return { operations: given.map(readOperation), failOnErrors: failOnErrors as number };
}

function readOperation(given: unknown): BulkOperation {
  const { method, path, bulkId = null, version = null, data = null } = isJsonObject(given) ? given : {};
  const name = String(method).toUpperCase();
  const isText = (value: unknown): value is string | null => value === null || typeof value === "string";
  if (!METHODS.has(name) || typeof path !== "string" || !path.startsWith("/") || !isText(bulkId) || !isText(version)) {
    throw new ScimRequestError(
      "invalidSyntax",
      "An operation must have a method and a path, and may have a bulkId and a version.",
    );
  }
  if (name === "POST" && bulkId === null)
    throw new ScimRequestError("invalidSyntax", "POST operations must have a bulkId.");
  return { method: name, path, bulkId, version, data };
}
