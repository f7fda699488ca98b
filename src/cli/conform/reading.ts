import { type Checking, expect, heardWords, shownFields } from "./findings.ts";
import { get } from "./rows.ts";
import { sampleOf } from "./samples.ts";
import type { Heard } from "./target.ts";

const ENVELOPE = ["total", "partial", "previous", "next", "data"];
/** What some fields are shown for. @source service-api.md, Alarms and confirmation requests */
const FLAGS = "includeActions=true&includeThresholds=true&includeDynamicReplies=true&includeEscalationRules=true";

/** The list: its envelope, a page of one, and every documented parameter. */
export async function checkList(checking: Checking): Promise<void> {
  const { path, target, rows } = checking;
  const at = await rows.fill(path.at);
  const about = { operation: "get" } as const;
  const heard = await target.ask("GET", at);
  if (!expect(checking, heard.status === 200, `GET answered ${heardWords(heard)}`, about)) return;
  if (path.single) return checkShown(checking, heard);
  const names = Object.keys(heard.body ?? {});
  expect(checking, names.join() === ENVELOPE.join(), `the envelope holds ${names.join(", ")}`, about);
  const one = await target.ask("GET", `${at}?limit=1`);
  const { total, partial, data, next } = (one.body ?? {}) as Record<string, unknown>;
  const rest = Number(total) > 1;
  const fine = Array.isArray(data) && data.length === Math.min(Number(total), 1) && partial === rest;
  expect(checking, fine && (typeof next === "string") === rest, "a page of one row is not told as such", about);
  for (const field of path.fields.filter(({ in: place }) => place === "query")) {
    const asked = await target.ask(
      "GET",
      `${at}?${field.name}=${encodeURIComponent(await parameterOf(checking, field))}`,
    );
    expect(checking, asked.status === 200, `GET with ${field.name} answered ${heardWords(asked)}`, {
      field: field.name,
    });
  }
}

async function parameterOf({ rows }: Checking, field: Checking["path"]["fields"][number]): Promise<string> {
  if (field.name.endsWith("Id")) return rows.idFor(field.name);
  const value = sampleOf("/devices", field, 1);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** One row: without envelope, the same as it was answered before. */
export async function checkItem(checking: Checking, item: string): Promise<void> {
  const heard = await checking.target.ask("GET", `${item}?${FLAGS}`);
  const about = { operation: "get" } as const;
  if (!expect(checking, heard.status === 200, `GET of one answered ${heardWords(heard)}`, about)) return;
  expect(checking, !("data" in (heard.body ?? {})), "one row comes in an envelope", about);
  checkShown(checking, heard);
}

/** Every documented member is answered, in its shape. */
function checkShown(checking: Checking, { body }: Heard): void {
  for (const { name, type } of shownFields(checking.path)) {
    const value = get(body, name);
    const about = { field: name };
    if (!expect(checking, value !== undefined, `${name} is not answered`, about)) continue;
    expect(
      checking,
      fits(value, type),
      `${name} is answered as ${JSON.stringify(value)?.slice(0, 80)}, not as ${type}`,
      about,
    );
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function fits(value: unknown, type: string): boolean {
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
