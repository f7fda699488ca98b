import { type CheckContext, describeResponse, expectThat, readableFields } from "./findings.ts";
import { getByBrackets } from "./row-factory.ts";
import { sampleValue } from "./samples.ts";
import type { TargetResponse } from "./target.ts";

const ENVELOPE = ["total", "partial", "previous", "next", "data"];
/** Parameters that include optional fields. @source docs/decisions/0042-api-contract.md */
const INCLUDE_FLAGS =
  "includeActions=true&includeThresholds=true&includeDynamicReplies=true&includeEscalationRules=true";

/** Checks a list: its envelope, a page of one row, and every documented parameter. */
export async function checkList(context: CheckContext): Promise<void> {
  const { path, target, rows } = context;
  const at = await rows.fillPath(path.at);
  const about = { operation: "get" } as const;
  const response = await target.request("GET", at);
  if (!expectThat(context, response.status === 200, `GET returned ${describeResponse(response)}`, about)) return;
  if (path.single) return checkFields(context, response);
  const names = Object.keys(response.body ?? {});
  expectThat(context, names.join() === ENVELOPE.join(), `the envelope has the members ${names.join(", ")}`, about);
  const one = await target.request("GET", `${at}?limit=1`);
  const { total, partial, data, next } = (one.body ?? {}) as Record<string, unknown>;
  const hasMore = Number(total) > 1;
  const isPage = Array.isArray(data) && data.length === Math.min(Number(total), 1) && partial === hasMore;
  expectThat(
    context,
    isPage && (typeof next === "string") === hasMore,
    "wrong paging members for a page of one row",
    about,
  );
  for (const field of path.fields.filter(({ in: place }) => place === "query")) {
    const filtered = await target.request(
      "GET",
      `${at}?${field.name}=${encodeURIComponent(await parameterValue(context, field))}`,
    );
    expectThat(context, filtered.status === 200, `GET with ${field.name} returned ${describeResponse(filtered)}`, {
      field: field.name,
    });
  }
}

async function parameterValue({ rows }: CheckContext, field: CheckContext["path"]["fields"][number]): Promise<string> {
  if (field.name.endsWith("Id")) return rows.idFor(field.name);
  const value = sampleValue("/devices", field, 1);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Checks one row: without envelope, and with the documented fields. */
export async function checkItem(context: CheckContext, item: string): Promise<void> {
  const response = await context.target.request("GET", `${item}?${INCLUDE_FLAGS}`);
  const about = { operation: "get" } as const;
  if (!expectThat(context, response.status === 200, `GET of one row returned ${describeResponse(response)}`, about))
    return;
  expectThat(context, !("data" in (response.body ?? {})), "a single row is wrapped in an envelope", about);
  checkFields(context, response);
}

/** Every documented field is present and has its type. */
function checkFields(context: CheckContext, { body }: TargetResponse): void {
  for (const { name, type } of readableFields(context.path)) {
    const value = getByBrackets(body, name);
    const about = { field: name };
    if (!expectThat(context, value !== undefined, `${name} is missing in the response`, about)) continue;
    expectThat(
      context,
      matchesType(value, type),
      `${name} is ${JSON.stringify(value)?.slice(0, 80)} instead of ${type}`,
      about,
    );
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function matchesType(value: unknown, type: string): boolean {
  if (value === null) return true;
  if (type.startsWith("array")) return Array.isArray(value);
  switch (type) {
    case "time-uuid":
    case "uuid":
      return typeof value === "string" && UUID.test(value);
    case "timestamp":
      return typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);
    case "date":
      return typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value);
    case "integer":
    case "file":
      return Number.isSafeInteger(value);
    case "boolean":
      return typeof value === "boolean";
    case "string":
    case "option":
      return typeof value === "string";
    default:
      return true;
  }
}
