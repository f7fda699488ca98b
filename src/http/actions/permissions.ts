import { invalidValue, requiredValue } from "../../lib/errors.ts";
import { readSentences, sentence } from "../../lib/sentences/sentences.ts";
import {
  assertRequestPath,
  explainPermission,
  listUserGrants,
  type SourcedGrant,
} from "../../permissions/permission-explanation.ts";
import users from "../../resources/people/users.ts";
import { PERMISSION_VERBS } from "../../resources/security/permission-verbs.ts";
import { option, text, uuid } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Method } from "../../schema/resource.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { textParameter } from "../query/query.ts";
import { COMPUTED_PAGE_QUERY, computedPage } from "./computed-page.ts";

const TEXT: JsonSchema = { type: "string" };
const MAYBE: JsonSchema = { type: ["string", "null"] };
const SOURCE = closedObject({
  verb: TEXT,
  spec: TEXT,
  from: { type: "string", enum: ["implicit", "super-group", "own", "group"] },
  permissionId: MAYBE,
  securityGroupId: MAYBE,
  securityGroupName: MAYBE,
  domainId: MAYBE,
});
const SOURCES: JsonSchema = { type: "array", items: SOURCE };
const PERMISSIONS = closedObject({
  total: { type: "integer" },
  partial: { type: "boolean" },
  previous: MAYBE,
  next: MAYBE,
  data: { type: "array", items: closedObject({ spec: TEXT, verbs: { type: "array", items: TEXT }, sources: SOURCES }) },
});
const EXPLANATION = closedObject({
  userId: TEXT,
  verb: TEXT,
  path: TEXT,
  granted: { type: "boolean" },
  domainId: MAYBE,
  grants: SOURCES,
  missing: { type: "array", items: TEXT },
  missingSentences: {
    type: "array",
    description: "What is missing by code and parameters, beside their texts.",
    items: closedObject({ text: TEXT, code: MAYBE, params: { type: ["object", "null"] } }),
  },
});

/**
 * Effective permissions of a user and explanations. All permissions are returned in one page, each spec once with its
 * verbs and sources.
 * @source docs/decisions/0042-api-contract.md, `/v1/users/{userId}/all-permissions`
 */
export const permissionActions: readonly Action[] = [
  {
    method: "get",
    at: "users/{userId}/all-permissions",
    doc: "Lists all permissions of the user with their sources.",
    response: { kind: "json", schema: PERMISSIONS },
    query: COMPUTED_PAGE_QUERY,
    async handle(request) {
      const user = requireVisibleRow(request, users, request.params.userId ?? "");
      const data = groupBySpec(listUserGrants(request.deps.store, user, request.by.scope));
      return jsonResponse(computedPage(data, request.query));
    },
  },
  {
    method: "get",
    at: "permission-explanations",
    doc: "Explains whether a user may perform an operation in a domain: the grants that allow it, or what is missing.",
    response: { kind: "json", schema: EXPLANATION },
    query: {
      userId: uuid("The user; default: the caller."),
      verb: option("Operation.", PERMISSION_VERBS, { required: true }),
      path: text("Path without the version prefix, such as `/users/0190…`.", { required: true, max: 1_000 }),
      domainId: uuid("Acting domain; default: the first domain available to the user."),
    },
    permission: "anyone",
    handle: async (request) => jsonResponse(presentExplanation(request)),
  },
];

function presentExplanation(request: ApiRequest): object {
  const { query, principal, deps, by } = request;
  const userId = textParameter(query, "userId") ?? principal.userId;
  const verb = textParameter(query, "verb");
  const path = textParameter(query, "path");
  if (verb === null) throw requiredValue("verb");
  if (path === null) throw requiredValue("path");
  if (!(PERMISSION_VERBS as readonly string[]).includes(verb)) {
    throw invalidValue("verb", sentence("field.must-be-one-of-values", { values: PERMISSION_VERBS.join(", ") }));
  }
  assertRequestPath(path);
  const domainId = textParameter(query, "domainId");
  if (domainId !== null && !by.scope.canReference(domainId.toLowerCase())) {
    throw invalidValue("domainId", sentence("field.domain-id-not-found", { id: domainId }));
  }
  const user = requireVisibleRow(request, users, userId);
  const question = { user, verb: verb as Method, path, domainId };
  const explanation = explainPermission(question, deps, by.scope);
  return { userId: user.id, verb, path, ...explanation, missingSentences: readSentences(explanation.missing) };
}

/** Grants grouped by spec, in their order. */
function groupBySpec(grants: readonly SourcedGrant[]): object[] {
  const found = new Map<string, { spec: string; verbs: string[]; sources: SourcedGrant[] }>();
  for (const grant of grants) {
    const known = found.get(grant.spec) ?? { spec: grant.spec, verbs: [], sources: [] };
    found.set(grant.spec, known);
    if (!known.verbs.includes(grant.verb)) known.verbs.push(grant.verb);
    known.sources.push(grant);
  }
  return [...found.values()];
}

function closedObject(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: "object", required: Object.keys(properties), properties, additionalProperties: false };
}
