import { type CheckContext, describeResponse, expectThat, readableFields } from "./findings.ts";
import { getByBrackets } from "./row-factory.ts";
import { sampleValue } from "./samples.ts";
import type { TargetResponse } from "./target.ts";

const ENVELOPE = ["total", "partial", "previous", "next", "data"];
/** What some fields are shown for. @source service-api.md, Alarms and confirmation requests */
const INCLUDE_FLAGS =
  "includeActions=true&includeThresholds=true&includeDynamicReplies=true&includeEscalationRules=true";

/** The list: its envelope, a page of one, and every documented parameter. */
export async function checkList(checking: CheckContext): Promise<void> {
  const { path, target, rows } = checking;
  const at = await rows.fillPath(path.at);
  const about = { operation: "get" } as const;
  const heard = await target.request("GET", at);
  if (!expectThat(checking, heard.status === 200, `GET answered ${describeResponse(heard)}`, about)) return;
  if (path.single) return checkFields(checking, heard);
  const names = Object.keys(heard.body ?? {});
  expectThat(checking, names.join() === ENVELOPE.join(), `the envelope holds ${names.join(", ")}`, about);
  const one = await target.request("GET", `${at}?limit=1`);
  const { total, partial, data, next } = (one.body ?? {}) as Record<string, unknown>;
  const rest = Number(total) > 1;
  const fine = Array.isArray(data) && data.length === Math.min(Number(total), 1) && partial === rest;
  expectThat(checking, fine && (typeof next === "string") === rest, "a page of one row is not told as such", about);
  for (const field of path.fields.filter(({ in: place }) => place === "query")) {
    const asked = await target.request(
      "GET",
      `${at}?${field.name}=${encodeURIComponent(await parameterValue(checking, field))}`,
    );
    expectThat(checking, asked.status === 200, `GET with ${field.name} answered ${describeResponse(asked)}`, {
      field: field.name,
    });
  }
}

async function parameterValue({ rows }: CheckContext, field: CheckContext["path"]["fields"][number]): Promise<string> {
  if (field.name.endsWith("Id")) return rows.idFor(field.name);
  const value = sampleValue("/devices", field, 1);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** One row: without envelope, the same as it was answered before. */
export async function checkItem(checking: CheckContext, item: string): Promise<void> {
  const heard = await checking.target.request("GET", `${item}?${INCLUDE_FLAGS}`);
  const about = { operation: "get" } as const;
  if (!expectThat(checking, heard.status === 200, `GET of one answered ${describeResponse(heard)}`, about)) return;
  expectThat(checking, !("data" in (heard.body ?? {})), "one row comes in an envelope", about);
  checkFields(checking, heard);
}

/** Every documented member is answered, in its shape. */
function checkFields(checking: CheckContext, { body }: TargetResponse): void {
  for (const { name, type } of readableFields(checking.path)) {
    const value = getByBrackets(body, name);
    const about = { field: name };
    if (!expectThat(checking, value !== undefined, `${name} is not answered`, about)) continue;
    expectThat(
      checking,
      matchesType(value, type),
      `${name} is answered as ${JSON.stringify(value)?.slice(0, 80)}, not as ${type}`,
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
