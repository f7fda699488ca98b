import { type CheckContext, describeResponse, expectThat, isRejection, writableFields } from "./findings.ts";
import { checkItem } from "./read-checks.ts";
import type { ReferenceField } from "./reference.ts";
import { getByBrackets, setByBrackets, toFormFields } from "./row-factory.ts";
import { NEVER_SENT_FIELDS, SAMPLE_PICTURE, sampleRecording } from "./samples.ts";
import type { TargetResponse } from "./target.ts";

type Body = Record<string, unknown>;

/** Checks creation: required fields, all fields, media types and rejections. Returns the path of a created row. */
export async function checkCreation(context: CheckContext): Promise<string | null> {
  const { path, rows } = context;
  const about = { operation: "post" } as const;
  await checkRequired(context);
  if (CONDITIONAL_PATHS.has(path.at)) return null;
  const minimal = await rows.create(path.at, await minimalBody(context));
  expectThat(
    context,
    minimal.status === 200,
    `POST of the required fields returned ${describeResponse(minimal)}`,
    about,
  );
  const full = await rows.body(path, "full");
  const created = await rows.create(path.at, hasFile(context) ? multipartOf(context, full) : full);
  if (expectThat(context, created.status === 200, `POST of all fields returned ${describeResponse(created)}`, about))
    checkAccepted(context, full, created);
  await checkOptions(context);
  await checkLengths(context);
  await checkMedia(context);
  const id = created.body?.id ?? minimal.body?.id;
  if (id === undefined || !path.methods.includes("get")) return null;
  const item = `${await rows.fillPath(path.at)}/${String(id)}`;
  await checkItem(context, item);
  return item;
}

/** Rows that can be created by hand under undocumented conditions only. @source docs/decisions/0042-api-contract.md */
const CONDITIONAL_PATHS: ReadonlySet<string> = new Set(["/alarms/{alarmId}/events"]);

async function minimalBody(context: CheckContext): Promise<Body | FormData> {
  const body = await context.rows.body(context.path, "minimal");
  return Object.keys(body).length === 0 && hasFile(context) ? multipartOf(context, body) : body;
}

async function checkRequired(context: CheckContext): Promise<void> {
  const { path, rows } = context;
  for (const { name } of writableFields(path).filter(({ required }) => required)) {
    const body = await rows.body(path, "minimal");
    delete body[name];
    const response = await rows.create(path.at, body);
    expectThat(
      context,
      isRejection(response, name, "required"),
      `POST without ${name} returned ${describeResponse(response)}`,
      {
        field: name,
      },
    );
  }
}

/** The response contains the values that were sent. */
function checkAccepted(context: CheckContext, sent: Body, { body }: TargetResponse): void {
  for (const { name, type, in: place } of writableFields(context.path)) {
    const [value, returned] = [getByBrackets(sent, name), getByBrackets(body, name)];
    const about = { field: name };
    if (place === "write")
      expectThat(context, returned === undefined, `${name} is write-only but present in the response`, about);
    else if (type === "file") expectThat(context, Number(returned) > 0, `the file of ${name} was not stored`, about);
    else if (value === null || typeof value !== "object") {
      if (value === undefined) continue;
      const message = `${name} was sent as ${JSON.stringify(value)} but returned as ${JSON.stringify(returned)}`;
      expectThat(context, returned === value, message, about);
    }
  }
}

async function checkOptions(context: CheckContext): Promise<void> {
  const { path, rows } = context;
  for (const field of writableFields(path).filter(({ options }) => options)) {
    const about = { field: field.name };
    const wrong = await withValue(context, field, "no-such-option");
    const rejected = await rows.create(path.at, wrong);
    expectThat(
      context,
      isRejection(rejected, field.name, "invalid-value"),
      `POST of an invalid ${field.name} returned ${describeResponse(rejected)}`,
      about,
    );
    for (const option of field.options ?? []) {
      const response = await sendOption(context, field, option);
      expectThat(
        context,
        response.status === 200,
        `${field.name} ${option} returned ${describeResponse(response)}`,
        about,
      );
    }
  }
}

/** Creates a row with the option and deletes it at once; where that would do harm, filters the list by the option. */
async function sendOption(context: CheckContext, field: ReferenceField, option: string): Promise<TargetResponse> {
  const { path, rows, target } = context;
  const at = await rows.fillPath(path.at);
  if (NEVER_SENT_FIELDS.has(`${path.at} ${field.name}`)) return target.request("GET", `${at}?${field.name}=${option}`);
  const response = await rows.create(path.at, await withValue(context, field, option));
  // Some resources have a limit of a few rows.
  if (response.status === 200 && (path.more || path.methods.includes("delete")))
    await target.request("DELETE", `${at}/${String(response.body?.id)}`);
  return response;
}

async function withValue({ path, rows }: CheckContext, { name, type }: ReferenceField, value: unknown): Promise<Body> {
  const body = await rows.body(path, "minimal");
  if (name === "filterType" && value === "LOGICAL_EXPRESSION") Object.assign(body, pick(await rows.body(path, "full")));
  if (name === "notificationAction") Object.assign(body, pick(await rows.body(path, "full"), ["messageTemplateId"]));
  setByBrackets(body, name, type.startsWith("array") ? [value] : value);
  return body;
}

function pick(body: Body, names: readonly string[] = ["filters", "logicalExpression"]): Body {
  return Object.fromEntries(names.map((name) => [name, body[name]]));
}

async function checkLengths(context: CheckContext): Promise<void> {
  const { path, rows } = context;
  for (const field of writableFields(path).filter(({ max }) => max)) {
    const max = field.max as number;
    const fits = await rows.create(path.at, await withValue(context, field, "x".repeat(max)));
    const over = await rows.create(path.at, await withValue(context, field, "x".repeat(max + 1)));
    const isExpected = fits.status === 200 && isRejection(over, field.name, "invalid-value");
    expectThat(
      context,
      isExpected,
      `${max} characters returned ${describeResponse(fits)}, one more ${describeResponse(over)}`,
      {
        field: field.name,
      },
    );
  }
}

async function checkMedia(context: CheckContext): Promise<void> {
  const { path, rows } = context;
  if (!path.media) return;
  const full = await rows.body(path, "full");
  const form = await rows.create(path.at, new URLSearchParams(toFormFields(full)));
  expectThat(context, form.status === 200, `POST of a form returned ${describeResponse(form)}`, { operation: "post" });
  if (form.status === 200) checkAccepted(context, full, form);
  const again = await rows.body(path, "full");
  const parts = await rows.create(path.at, multipartOf(context, again));
  expectThat(context, parts.status === 200, `POST of multipart returned ${describeResponse(parts)}`, {
    operation: "post",
  });
  if (parts.status === 200) checkAccepted(context, again, parts);
}

function hasFile({ path }: CheckContext): boolean {
  return path.fields.some(({ type, in: place }) => type === "file" && place === undefined);
}

function multipartOf({ path }: CheckContext, body: Body): FormData {
  const parts = new FormData();
  for (const [name, value] of toFormFields(body)) parts.append(name, value);
  for (const { name } of path.fields.filter(({ type }) => type === "file")) {
    const isAudio = name === "audio";
    const bytes = isAudio ? sampleRecording() : SAMPLE_PICTURE;
    parts.append(name, new Blob([new Uint8Array(bytes)]), isAudio ? "sample.wav" : "sample.png");
  }
  return parts;
}

/** Checks updates in each media type, with the id in the path and in the body; fields that are not sent keep their values. */
export async function checkChange(context: CheckContext, item: string): Promise<void> {
  const { path, target } = context;
  const about = { operation: "put" } as const;
  const collection = item.slice(0, item.lastIndexOf("/"));
  const id = item.slice(item.lastIndexOf("/") + 1);
  const before = await target.request("GET", item);
  const change = await changedBody(context);
  const [name, value] = Object.entries(change)[0] ?? [];
  if (name === undefined) return;
  const requests: [string, string, Body | URLSearchParams | FormData][] = [
    ["PUT", item, change],
    ["PUT with the id in the body", collection, { ...change, id }],
  ];
  if (path.media) {
    requests.push(["PUT of a form", item, new URLSearchParams(toFormFields(change))]);
    const parts = new FormData();
    for (const [key, text] of toFormFields(change)) parts.append(key, text);
    requests.push(["PUT of multipart", item, parts]);
  }
  for (const [label, at, body] of requests) {
    const response = await target.request("PUT", at, body);
    expectThat(context, response.status === 200, `${label} returned ${describeResponse(response)}`, about);
    // Updating an alarm's action returns the alarm.
    if (path.at !== "/alarms/{alarmId}/actions" && response.status === 200) {
      expectThat(context, getByBrackets(response.body, name) === value, `${label} did not change ${name}`, about);
      const unchanged = shownNames(context).filter((each) => each !== name && each !== "updatedAt");
      const lost = unchanged.filter(
        (each) =>
          JSON.stringify(getByBrackets(response.body, each)) !== JSON.stringify(getByBrackets(before.body, each)),
      );
      expectThat(context, lost.length === 0, `${label} also changed ${lost.join(", ")}`, about);
    }
  }
}

function shownNames({ path }: CheckContext): string[] {
  return writableFields(path)
    .filter(({ in: place }) => place === undefined)
    .map(({ name }) => name);
}

/** A field that any row allows to update, with a new value. */
async function changedBody({ path, rows }: CheckContext): Promise<Body> {
  const plain = [
    "name",
    "description",
    "muted",
    "subject",
    "logoAltText",
    "first",
    "testMode",
    "triggerOnStatus",
    "subscriptionEndDate",
    "cmAddress",
  ];
  const name = plain.find((each) => path.fields.some((field) => field.name === each && field.in === undefined));
  if (name === undefined) return {};
  const body = await rows.body(path, "full");
  return { [name]: name === "subscriptionEndDate" ? "2098-01-01T00:00:00.000Z" : body[name] };
}

/** Checks deletion: its response, and that the row is gone. */
export async function checkDeletion(context: CheckContext, item: string): Promise<void> {
  const about = { operation: "delete" } as const;
  const id = item.slice(item.lastIndexOf("/") + 1);
  const response = await context.target.request("DELETE", item);
  const isExpected =
    response.status === 200 && response.body?.status === 200 && response.body.message === `deleted ${id}`;
  expectThat(context, isExpected, `DELETE returned ${describeResponse(response)}`, about);
  const after = await context.target.request("GET", item);
  expectThat(context, after.status === 404, `GET of a deleted row returned ${after.status}`, about);
}
