import type { Catalogue } from "../../schema/catalogue.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Action } from "../action.ts";
import { type OnPremisesPath, onPremisesPaths } from "../on-premises-paths.ts";
import { routeShape } from "../router.ts";
import { IMPACT_SCHEMA } from "../rows/dry-run.ts";
import { RING_DIFF_SCHEMA } from "../rows/ring-diff-response.ts";
import { ERROR_SCHEMA, errorResponses, USES_SCHEMA } from "./errors.ts";
import { operationName } from "./operation-names.ts";
import { operationOf } from "./operations.ts";
import { SHARED_PARAMETERS } from "./parameters.ts";
import { rowSchemas } from "./row-schemas.ts";
import { WARNINGS_SCHEMA } from "./warnings.ts";
import { describeWebhooks } from "./webhooks.ts";

/** An OpenAPI document as plain JSON. */
export interface OpenApiDocument {
  openapi: "3.1.0";
  info: JsonSchema;
  servers: readonly JsonSchema[];
  tags: readonly { name: string }[];
  security: readonly JsonSchema[];
  /** Operations by path below `/api` and method. */
  paths: Record<string, Record<string, JsonSchema>>;
  /** Requests that Carillon sends to receivers, by name. */
  webhooks: Record<string, Record<string, JsonSchema>>;
  components: Record<"schemas" | "parameters" | "responses" | "securitySchemes", Record<string, JsonSchema>>;
}

const DESCRIPTION = `The HTTP API of a Carillon appliance. The console uses the same API.

- Fields and parameters may also be written in kebab-case, nested fields of forms in brackets: \`geometryValue[type]\`.
- Booleans may be given as strings: "true" is true, every other string is false.
- Unknown query parameters and body fields have no effect and are named in \`warnings\` of the response; with \`strict=true\` the request is refused. Lists refuse filters by fields that cannot be filtered.
- Timestamps are ISO 8601 in UTC. Lists are paged; send \`next\` or \`previous\` as \`start\`.
- Send the token as \`Authorization: Bearer …\`; \`access_token\` in a form body or, for tests, in the query is also accepted.
- PUT changes only the given fields; DELETE and PUT accept the id in the path, in the body or in the query.`;

const STORED_FILE: JsonSchema = {
  type: "object",
  required: ["fileName", "size", "contentType", "metadata"],
  properties: {
    fileName: { type: "string" },
    size: { type: "integer", minimum: 0, description: "Size in bytes." },
    contentType: { type: "string" },
    metadata: { type: "object", description: "Metadata read from the file." },
    url: { type: "string", description: "URL of the file; returned with includeBinaryUrls." },
  },
};

const DELETION: JsonSchema = {
  type: "object",
  required: ["status", "message", "resources"],
  properties: {
    status: { const: 200 },
    message: { type: "string", description: "The word deleted, followed by the id." },
    resources: {
      type: "array",
      items: { type: "object", required: ["id"], properties: { id: { type: "string", format: "uuid" } } },
    },
  },
};

const INFO: JsonSchema = {
  title: "Carillon",
  version: "1.0.0",
  description: DESCRIPTION,
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

const SECURITY_SCHEMES: Record<string, JsonSchema> = {
  bearer: { type: "http", scheme: "bearer", description: "A permanent token or an OAuth 2 access token." },
  inQuery: { type: "apiKey", in: "query", name: "access_token", description: "For tests only." },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "carillon",
    description: "Console session. Changes require the headers X-Carillon-Console: 1 and Origin.",
  },
};

/** Accepted everywhere. */
const SECURITY = Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] }));
/** Accepted below the on-premises prefix. */
const ON_PREMISES_SECURITY = { security: [...SECURITY, { basic: [] }] };
const BASIC: JsonSchema = {
  type: "http",
  scheme: "basic",
  description: "Below /onprem/v1 only: an access token as the password with any name, or e-mail address and password.",
};

function familyIn({ at }: { at: string }): string {
  return at.split("/")[0] as string;
}

function documentPath(path: string, { outsideVersion }: Action): string {
  return path.slice(outsideVersion ? 1 : "/v1/".length);
}

/** The operation at an alias path, which may omit some placeholders. */
function aliasOf(operation: JsonSchema, { method, response }: Action, alias: OnPremisesPath, path: string): JsonSchema {
  const given = Object.keys(alias.family.fixedIds ?? {});
  const parameters = operation.parameters as { name: string; in: string }[];
  return {
    ...operation,
    operationId: operationName(method, alias.at, response.kind === "list"),
    tags: [familyIn(alias)],
    parameters: parameters.filter(({ name, in: place }) => place !== "path" || !given.includes(name)),
    // Open operations have their own.
    ...(operation.security === undefined ? ON_PREMISES_SECURITY : {}),
    "x-alias-of": path,
  };
}

/** Describes endpoints; the last one with the same method and path wins. Yields every few ms of work. */
export function* describeApi(
  catalogue: Catalogue,
  actions: readonly Action[],
): Generator<undefined, OpenApiDocument, undefined> {
  const paths: OpenApiDocument["paths"] = {};
  /** Placeholder names may differ between endpoints of one path; the first ones are used. */
  const known = new Map<string, string>();
  for (const action of actions) {
    const at = action.outsideVersion ? `/${action.at}` : `/v1/${action.at}`;
    const path = known.get(routeShape(at)) ?? at;
    known.set(routeShape(at), path);
    const described = { ...action, at: documentPath(path, action) };
    const operation = operationOf(described);
    const isOnPremises = action.outsideVersion && action.at.startsWith("onprem/") && action.permission !== "open";
    paths[path] = { ...paths[path], [action.method]: { ...operation, ...(isOnPremises ? ON_PREMISES_SECURITY : {}) } };
    for (const alias of onPremisesPaths(described)) {
      const at = `/${alias.at}`;
      paths[at] = { ...paths[at], [action.method]: aliasOf(operation, described, alias, path) };
    }
    yield;
  }
  const schemas: Record<string, JsonSchema> = {
    ...{
      Error: ERROR_SCHEMA,
      Deletion: DELETION,
      Warnings: WARNINGS_SCHEMA,
      StoredFile: STORED_FILE,
      Impact: IMPACT_SCHEMA,
      Uses: USES_SCHEMA,
      RingDifference: RING_DIFF_SCHEMA,
    },
  };
  for (const resource of catalogue.all) {
    Object.assign(schemas, rowSchemas(resource, catalogue));
    yield;
  }
  const tags = [...new Set(actions.flatMap((action) => [action, ...onPremisesPaths(action)].map(familyIn)))].sort();
  return {
    openapi: "3.1.0",
    info: INFO,
    servers: [{ url: "/api" }],
    tags: tags.map((name) => ({ name })),
    security: SECURITY,
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    webhooks: describeWebhooks(catalogue),
    components: {
      schemas,
      parameters: SHARED_PARAMETERS,
      responses: errorResponses(),
      securitySchemes: { ...SECURITY_SCHEMES, basic: BASIC },
    },
  };
}
