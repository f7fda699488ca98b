import type { OpenApiDocument } from "../../http/openapi/document.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

/** An operation of the API as generated clients need it. */
export interface ApiOperation {
  /** `listUsers`. */
  id: string;
  method: "get" | "post" | "put" | "delete";
  /** Below `/api`: `/v1/users/{userId}`. */
  path: string;
  /** Names of the placeholders, in order. */
  pathNames: readonly string[];
  tag: string;
  summary: string;
  /** Names of the query parameters. */
  queryNames: readonly string[];
  /** Content types of the body; none without a body. */
  contentTypes: readonly string[];
  /** Example of a JSON body; null without one. */
  example: unknown;
}

const METHODS = ["get", "post", "put", "delete"] as const;

/** The operations of a document, by path; aliases are left out. */
export function apiOperations({ paths, components }: OpenApiDocument): ApiOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const operation = methods[method];
      if (!operation || operation["x-alias-of"] !== undefined) return [];
      return [toOperation(path, method, operation, components)];
    }),
  );
}

function toOperation(
  path: string,
  method: ApiOperation["method"],
  operation: JsonSchema,
  { parameters: shared, schemas }: OpenApiDocument["components"],
): ApiOperation {
  const given = (operation.parameters ?? []) as { $ref?: string; name?: string; in?: string }[];
  const parameters = given.map((each) => {
    if (each.$ref === undefined) return each;
    return shared[each.$ref.slice(each.$ref.lastIndexOf("/") + 1)] as { name?: string; in?: string };
  });
  const content = (operation.requestBody as { content?: Record<string, JsonSchema> } | undefined)?.content ?? {};
  return {
    id: String(operation.operationId),
    method,
    path,
    pathNames: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name),
    tag: String((operation.tags as string[])[0]),
    summary: String(operation.summary),
    queryNames: parameters.flatMap(({ name, in: place }) => (place === "query" && name !== undefined ? [name] : [])),
    contentTypes: Object.keys(content),
    example: exampleOf(content["application/json"], schemas),
  };
}

function exampleOf(content: JsonSchema | undefined, schemas: Readonly<Record<string, JsonSchema>>): unknown {
  if (content?.example !== undefined) return content.example;
  const given = (content?.schema ?? {}) as JsonSchema & { allOf?: JsonSchema[] };
  const { $ref, ...inline } = (given.allOf?.[0] ?? given) as JsonSchema & { $ref?: string };
  const schema = $ref === undefined ? inline : schemas[$ref.slice($ref.lastIndexOf("/") + 1)];
  return (schema?.examples as unknown[] | undefined)?.[0] ?? null;
}
