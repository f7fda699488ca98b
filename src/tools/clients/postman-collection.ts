import type { OpenApiDocument } from "../../http/openapi/document.ts";
import { type ApiOperation, apiOperations } from "./api-operations.ts";

const SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";

/**
 * A collection of requests in Postman's format 2.1, which Bruno and Insomnia import, too: one folder per family, with
 * `url` and `token` as variables. @source Postman Collection Format 2.1.0
 */
export function writePostmanCollection(document: OpenApiDocument): string {
  const folders = new Map<string, ApiOperation[]>();
  for (const operation of apiOperations(document))
    folders.set(operation.tag, [...(folders.get(operation.tag) ?? []), operation]);
  const collection = {
    info: { name: String(document.info.title), schema: SCHEMA, description: String(document.info.description) },
    auth: { type: "bearer", bearer: [{ key: "token", value: "{{token}}", type: "string" }] },
    variable: [
      { key: "url", value: "http://127.0.0.1:8080" },
      { key: "token", value: "" },
    ],
    item: [...folders].map(([name, operations]) => ({ name, item: operations.map(requestOf) })),
  };
  return JSON.stringify(collection, null, 1);
}

function requestOf({ id, method, path, pathNames, summary, queryNames, contentTypes, example }: ApiOperation) {
  const segments = path
    .slice(1)
    .replace(/\{(\w+)\}/g, ":$1")
    .split("/");
  const isJson = contentTypes.includes("application/json");
  const body = isJson
    ? {
        mode: "raw",
        raw: JSON.stringify(example ?? {}, null, 2),
        options: { raw: { language: "json" } },
      }
    : { mode: "file" };
  return {
    name: id,
    request: {
      method: method.toUpperCase(),
      description: summary,
      header: isJson ? [{ key: "Content-Type", value: "application/json" }] : [],
      ...(contentTypes.length > 0 ? { body } : {}),
      url: {
        raw: `{{url}}/api/${segments.join("/")}`,
        host: ["{{url}}"],
        path: ["api", ...segments],
        variable: pathNames.map((key) => ({ key, value: "" })),
        query: queryNames.map((key) => ({ key, value: "", disabled: true })),
      },
    },
  };
}
