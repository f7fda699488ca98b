import { invalidValue } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import type { SentenceReference } from "../lib/sentences/reference.ts";
import { readSentence, type Sentence, sentence } from "../lib/sentences/sentences.ts";
import { camelCase } from "../schema/decoder.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource, Method } from "../schema/resource.ts";
import type { Action } from "./action.ts";
import { addMembers } from "./actions/add-members.ts";
import { queryParameterNames, takesWarnings } from "./openapi/operations.ts";
import type { IGNORED_INPUT_CODES } from "./openapi/warnings.ts";
import type { Query } from "./query/query.ts";

/** Something in a request that has no effect. */
export interface IgnoredInput {
  code: (typeof IGNORED_INPUT_CODES)[number];
  /** Name of the query parameter or body field. */
  parameter: string;
  message: Sentence;
  messageSentence: SentenceReference | null;
}

/** Finds what an operation would ignore in a request. */
export interface IgnoredInputCheck {
  /** Throws invalid-value for a filter that the list does not have. */
  inQuery(query: Query): IgnoredInput[];
  inBody(value: unknown): IgnoredInput[];
  /** Adds what was ignored to the `warnings` of a JSON object; other responses stay as they are. */
  addWarnings(response: HttpResponse, ignored: readonly IgnoredInput[]): HttpResponse;
}

/** Parameters of every operation; `id` and `ids` select rows of a list. */
const EVERYWHERE = ["access_token", "_method", "domain", "strict", "id", "includeBinaryUrls"];
/** Members of rows that clients send back as they were read. */
const SENT_BACK = ["id", "createdAt", "updatedAt", "permissions", "warnings", "access_token", "domain", "domainId"];
/** More are not listed in a response. */
const MAX_LISTED = 20;

/** Compiles the check of an operation at its first request. @source docs/decisions/0504-unknown-parameters.md */
export function createIgnoredInputCheck(action: Action): IgnoredInputCheck {
  let known: ReadonlySet<string> | null = null;
  const accepts = action.accepts ?? {};
  const list = action.response.kind === "list" ? action.response.resource : null;
  const parents = [...action.at.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  // Rows are sent back where they are written; an operation without a body, such as a clone, takes none of their fields.
  const row = action.accepts && action.response.kind === "row" ? action.response.resource : null;
  const shown = Object.keys(row?.fields ?? {});
  const fields = new Set([...Object.keys(accepts), ...shown, ...SENT_BACK, ...parents]);
  return {
    inQuery(query) {
      const given = Object.keys(query);
      if (given.length === 0) return [];
      known ??= new Set([...queryParameterNames(action), ...EVERYWHERE, ...parents]);
      // Fields of the body may be in the query.
      const names = given.filter((name) => !known?.has(name) && !Object.hasOwn(accepts, name));
      for (const name of names) if (list && isFieldOf(list, name)) throw noSuchFilter(name);
      return names.slice(0, MAX_LISTED).map(unknownParameter);
    },
    inBody(value) {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
      const unsupported = unsupportedValues(value as Readonly<Record<string, unknown>>, accepts);
      const names = Object.keys(value).filter((given) => !fields.has(given) && !fields.has(camelCase(given)));
      const unknown = [...names, ...unknownMembers(value, accepts, "")].map(unknownField);
      return [...unsupported, ...unknown].slice(0, MAX_LISTED);
    },
    addWarnings: (response, ignored) =>
      ignored.length > 0 && takesWarnings(action) ? withWarnings(response, ignored, action.method) : response,
  };
}

/** Throws invalid-value if there is ignored input and the caller asked for strictness. */
export function assertNothingIgnored(ignored: readonly IgnoredInput[], query: Query): void {
  const [first] = ignored;
  if (!first || query.strict !== "true") return;
  if (first.code === "unsupported-value") throw invalidValue(first.parameter, first.message);
  const names = ignored.map(({ parameter }) => parameter).join(", ");
  throw invalidValue(
    first.parameter,
    sentence("field.not-known-for-this-operation-names-without-strict-true-it", { names }),
  );
}

function withWarnings(response: HttpResponse, ignored: readonly IgnoredInput[], method: Method): HttpResponse {
  const { type = "application/json", body } = response;
  if (type !== "application/json" || typeof body !== "string" || !/^\{[^}]/.test(body)) return response;
  // A list may be long: its text is not parsed again, and has no other warnings.
  if (method === "get") return { ...response, body: `${body.slice(0, -1)},"warnings":${JSON.stringify(ignored)}}` };
  const { warnings: others = [] } = JSON.parse(body) as { warnings?: { parameter?: string }[] };
  // The cloud may have named it already.
  const added = ignored.filter(({ parameter }) => !others.some((each) => each.parameter === parameter));
  return addMembers(response, { warnings: [...others, ...added] });
}

/** Members of nested objects that their fields do not have. */
function unknownMembers(value: object, fields: Readonly<Record<string, Field>>, prefix: string): string[] {
  return Object.entries(value).flatMap(([given, inner]) => {
    const name = Object.hasOwn(fields, given) ? given : camelCase(given);
    const field = fields[name];
    if (field?.kind !== "object" || typeof inner !== "object" || inner === null || Array.isArray(inner)) return [];
    const isKnown = (each: string): boolean =>
      Object.hasOwn(field.fields, each) || Object.hasOwn(field.fields, camelCase(each));
    const unknown = Object.keys(inner).filter((each) => !isKnown(each));
    return [
      ...unknown.map((each) => `${prefix}${name}.${each}`),
      ...unknownMembers(inner, field.fields, `${prefix}${name}.`),
    ];
  });
}

/** Values that are stored and have no effect. */
function unsupportedValues(
  given: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, Field>>,
): IgnoredInput[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const parameter = Object.hasOwn(fields, name) ? name : camelCase(name);
    const reason = fields[parameter]?.unsupported;
    if (reason === undefined || [undefined, null, "", false, "false"].some((each) => each === value)) return [];
    return [
      ignored("unsupported-value", parameter, sentence("warning.unsupported-value", { name: parameter, reason })),
    ];
  });
}

function isFieldOf({ fields }: AnyResource, name: string): boolean {
  return Object.hasOwn(fields, name.replace(/__(gt|gte|lt|lte)$/, "")) && fields[name]?.kind !== "internal";
}

function noSuchFilter(name: string): Error {
  return invalidValue(name, sentence("field.rows-cannot-be-filtered-by-this-field-leave-it-out"));
}

function unknownParameter(name: string): IgnoredInput {
  const parameter = name.slice(0, 100);
  return ignored("unknown-parameter", parameter, sentence("warning.unknown-parameter", { name: parameter }));
}

function unknownField(name: string): IgnoredInput {
  const parameter = name.slice(0, 100);
  return ignored("unknown-field", parameter, sentence("warning.unknown-field", { name: parameter }));
}

function ignored(code: IgnoredInput["code"], parameter: string, message: Sentence): IgnoredInput {
  return { code, parameter, message, messageSentence: readSentence(message) };
}
