import type { JsonSchema } from "../../schema/json-schema.ts";
import type { OpenApiDocument } from "./document.ts";

/** Pages use no scripts and no external resources. */
const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{max-width:64rem;margin:0 auto;padding:1rem}
a{color:light-dark(#0b57a4,#8ec1ff)}h2{margin:2rem 0 .25rem;font-size:1.1rem;overflow-wrap:anywhere}
code,pre{font:.9em ui-monospace,monospace}pre{white-space:pre-wrap}
.verb{display:inline-block;min-width:4.5rem;font-weight:700;text-transform:uppercase}.old{text-decoration:line-through}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.2rem .6rem .2rem 0;border-bottom:1px solid light-dark(#ddd,#444);overflow-wrap:anywhere}
.soft{color:light-dark(#595959,#b0b0b0)}summary{cursor:pointer}`;

type Schemas = OpenApiDocument["components"]["schemas"];

/** All resource families with the number of their operations. */
export function renderDocsOverview(document: OpenApiDocument): string {
  const rows = document.tags.map(({ name }) => {
    const operations = operationsOf(document, name).length;
    return `<tr><td><a href="/api/v1/docs/${name}">${escaped(name)}</a></td><td>${operations}</td></tr>`;
  });
  const intro = String(document.info.description).split("\n").map(escaped).join("<br>");
  return renderDocsPage(
    "Carillon API",
    `<p>${intro}</p><p><a href="/api/v1/openapi.json">OpenAPI 3.1 document</a> · <a href="/help/">Administrator handbook</a></p>
<table><thead><tr><th>Family</th><th>Operations</th></tr></thead><tbody>${rows.join("")}</tbody></table>`,
  );
}

/** One resource family: operations and their schemas; null for an unknown family. */
export function renderDocsFamily(document: OpenApiDocument, family: string): string | null {
  const operations = operationsOf(document, family);
  if (operations.length === 0) return null;
  const used = new Set<string>();
  const sections = operations.map(([path, method, operation]) =>
    operationSection(document, path, method, operation, used),
  );
  const schemas = document.components.schemas;
  // Includes referenced schemas.
  for (const name of used) for (const other of refsIn(schemas[name])) used.add(other);
  const described = [...used].sort().map((name) => schemaSection(name, schemas));
  return renderDocsPage(
    `${family} · Carillon API`,
    `<p><a href="/api/v1/docs">All families</a></p>${sections.join("")}<h2>Schemas</h2>${described.join("")}`,
  );
}

function operationsOf(
  { paths }: OpenApiDocument,
  family: string,
): [path: string, method: string, operation: JsonSchema][] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => (tags as string[])[0] === family)
      .map(([method, operation]): [string, string, JsonSchema] => [path, method, operation]),
  );
}

function operationSection(
  { components }: OpenApiDocument,
  path: string,
  method: string,
  operation: JsonSchema,
  used: Set<string>,
): string {
  for (const name of refsIn(operation)) used.add(name);
  const parameters = (operation.parameters as JsonSchema[]).map((parameter) => {
    const name = /^#\/components\/parameters\/(.+)$/.exec(String(parameter.$ref))?.[1];
    return name === undefined ? parameter : (components.parameters[name] as JsonSchema);
  });
  const rows = parameters.map(
    ({ name, in: place, description, schema }) =>
      `<tr><td><code>${escaped(name)}</code></td><td>${escaped(place)}</td><td>${typeOf(schema as JsonSchema)}</td><td>${escaped(description)}</td></tr>`,
  );
  const body = operation.requestBody as { content: Record<string, { schema: JsonSchema }> } | undefined;
  const given = body
    ? `<p>Body (${Object.keys(body.content).map(escaped).join(", ")}): ${typeOf(Object.values(body.content)[0]?.schema)}</p>`
    : "";
  const title = operation.deprecated ? ' class="old"' : "";
  return `<section id="${escaped(operation.operationId)}"><h2${title}><span class="verb">${method}</span> <code>/api${escaped(path)}</code></h2>
<p>${escaped(operation.summary)}</p>${given}${answersOf(operation.responses as Record<string, JsonSchema>)}
<details><summary>${rows.length} parameters</summary><table>${rows.join("")}</table></details></section>`;
}

function answersOf(responses: Readonly<Record<string, JsonSchema>>): string {
  const items = Object.entries(responses).map(([status, { description, content }]) => {
    const [type, media] = Object.entries((content ?? {}) as Record<string, { schema: JsonSchema }>)[0] ?? [];
    return description === undefined
      ? status
      : `${status} ${escaped(description)} ${type === undefined ? "" : `${escaped(type)}: ${typeOf(media?.schema)}`}`;
  });
  const fine = items.filter((item) => item.length > 3);
  return `<p>Responses ${fine.join("; ")} <span class="soft">Errors: ${items.filter((item) => item.length === 3).join(", ")}</span></p>`;
}

function schemaSection(name: string, schemas: Schemas): string {
  const { properties = {}, required = [], description, examples } = (schemas[name] ?? {}) as Record<string, never>;
  const rows = Object.entries(properties as Record<string, JsonSchema>).map(
    ([member, schema]) =>
      `<tr><td><code>${escaped(member)}</code>${(required as string[]).includes(member) ? "" : ' <span class="soft">optional</span>'}</td><td>${typeOf(schema)}</td><td>${escaped(schema.description)}</td></tr>`,
  );
  const example = examples
    ? `<details><summary>Example</summary><pre>${escaped(JSON.stringify((examples as unknown[])[0], null, 2))}</pre></details>`
    : "";
  return `<details id="${name}"><summary><b>${name}</b> ${escaped(description)}</summary><table>${rows.join("")}</table>${example}</details>`;
}

function typeOf(schema: JsonSchema | undefined): string {
  if (!schema) return "";
  const name = nameOf(schema);
  if (name) return `<a href="#${name}">${name}</a>`;
  const parts = (schema.anyOf ?? schema.allOf) as JsonSchema[] | undefined;
  if (parts) return parts.map(typeOf).join(schema.anyOf ? " or " : " and ");
  if (schema.type === "array") return `list of ${typeOf(schema.items as JsonSchema)}`;
  if (schema.properties) return `{${Object.keys(schema.properties).map(escaped).join(", ")}}`;
  const limits = Object.entries({
    "≥": schema.minimum,
    "≤": schema.maximum,
    longest: schema.maxLength,
    most: schema.maxItems,
  })
    .filter(([, limit]) => limit !== undefined)
    .map(([word, limit]) => ` ${word} ${limit}`);
  const choice = Array.isArray(schema.enum) ? `: ${schema.enum.map((value) => escaped(value)).join(", ")}` : "";
  return `${escaped([schema.type ?? "any"].flat().join(" or "))} ${escaped(schema.format)}${limits.join("")}${choice}`;
}

function nameOf({ $ref }: JsonSchema): string | null {
  return /^#\/components\/schemas\/(\w+)$/.exec(String($ref))?.[1] ?? null;
}

function refsIn(value: unknown): string[] {
  return [...JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
    ([, name]) => name as string,
  );
}

function renderDocsPage(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title><style>${STYLE}</style></head><body><h1>${escaped(title)}</h1>${body}</body></html>`;
}

function escaped(value: unknown): string {
  const signs: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return String(value ?? "").replace(/[&<>"]/g, (sign) => signs[sign] as string);
}
