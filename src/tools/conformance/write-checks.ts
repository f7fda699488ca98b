import { type CheckContext, describeResponse, expectThat, isRejection, writableFields } from "./findings.ts";
import { checkItem } from "./read-checks.ts";
import type { ReferenceField } from "./reference.ts";
import { getByBrackets, setByBrackets, toFormFields } from "./row-factory.ts";
import { NEVER_SENT_FIELDS, SAMPLE_PICTURE, sampleRecording } from "./samples.ts";
import type { TargetResponse } from "./target.ts";

type Body = Record<string, unknown>;

/** Creation: what is required, what is taken, in which media types, and what is refused. Returns the path of a row. */
export async function checkCreation(checking: CheckContext): Promise<string | null> {
  const { path, rows } = checking;
  const about = { operation: "post" } as const;
  await checkRequired(checking);
  if (UNDER_CONDITIONS.has(path.at)) return null;
  const least = await rows.create(path.at, await minimalBody(checking));
  expectThat(checking, least.status === 200, `POST of what is required answered ${describeResponse(least)}`, about);
  const full = await rows.body(path, "full");
  const made = await rows.create(path.at, hasFile(checking) ? multipartOf(checking, full) : full);
  if (expectThat(checking, made.status === 200, `POST of all fields answered ${describeResponse(made)}`, about))
    checkAccepted(checking, full, made);
  await checkOptions(checking);
  await checkLengths(checking);
  await checkMedia(checking);
  const id = made.body?.id ?? least.body?.id;
  if (id === undefined || !path.methods.includes("get")) return null;
  const item = `${await rows.fillPath(path.at)}/${String(id)}`;
  await checkItem(checking, item);
  return item;
}

/** Rows that are made by hand under conditions that nobody documents. @source service-api.md, Alarms */
const UNDER_CONDITIONS: ReadonlySet<string> = new Set(["/alarms/{alarmId}/events"]);

async function minimalBody(checking: CheckContext): Promise<Body | FormData> {
  const body = await checking.rows.body(checking.path, "minimal");
  return Object.keys(body).length === 0 && hasFile(checking) ? multipartOf(checking, body) : body;
}

async function checkRequired(checking: CheckContext): Promise<void> {
  const { path, rows } = checking;
  for (const { name } of writableFields(path).filter(({ required }) => required)) {
    const body = await rows.body(path, "minimal");
    delete body[name];
    const heard = await rows.create(path.at, body);
    expectThat(
      checking,
      isRejection(heard, name, "required"),
      `POST without ${name} answered ${describeResponse(heard)}`,
      {
        field: name,
      },
    );
  }
}

/** What was sent is what is answered. */
function checkAccepted(checking: CheckContext, sent: Body, { body }: TargetResponse): void {
  for (const { name, type, in: place } of writableFields(checking.path)) {
    const [value, answered] = [getByBrackets(sent, name), getByBrackets(body, name)];
    const about = { field: name };
    if (place === "write")
      expectThat(checking, answered === undefined, `${name} is answered, which is only taken`, about);
    else if (type === "file") expectThat(checking, Number(answered) > 0, `the file of ${name} was not kept`, about);
    else if (value === null || typeof value !== "object") {
      if (value === undefined) continue;
      const words = `${name} was sent as ${JSON.stringify(value)} and is answered as ${JSON.stringify(answered)}`;
      expectThat(checking, answered === value, words, about);
    }
  }
}

async function checkOptions(checking: CheckContext): Promise<void> {
  const { path, rows } = checking;
  for (const field of writableFields(path).filter(({ options }) => options)) {
    const about = { field: field.name };
    const wrong = await withValue(checking, field, "no-such-option");
    const refused = await rows.create(path.at, wrong);
    expectThat(
      checking,
      isRejection(refused, field.name, "invalid-value"),
      `POST of another ${field.name} answered ${describeResponse(refused)}`,
      about,
    );
    for (const option of field.options ?? []) {
      const heard = await offer(checking, field, option);
      expectThat(checking, heard.status === 200, `${field.name} ${option} answered ${describeResponse(heard)}`, about);
    }
  }
}

/** An option is made a row with, which goes at once; where that would do harm, lists are narrowed by it. */
async function offer(checking: CheckContext, field: ReferenceField, option: string): Promise<TargetResponse> {
  const { path, rows, target } = checking;
  const at = await rows.fillPath(path.at);
  if (NEVER_SENT_FIELDS.has(`${path.at} ${field.name}`)) return target.request("GET", `${at}?${field.name}=${option}`);
  const heard = await rows.create(path.at, await withValue(checking, field, option));
  // Some families have room for a few rows only.
  if (heard.status === 200 && (path.more || path.methods.includes("delete")))
    await target.request("DELETE", `${at}/${String(heard.body?.id)}`);
  return heard;
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

async function checkLengths(checking: CheckContext): Promise<void> {
  const { path, rows } = checking;
  for (const field of writableFields(path).filter(({ max }) => max)) {
    const most = field.max as number;
    const fits = await rows.create(path.at, await withValue(checking, field, "x".repeat(most)));
    const over = await rows.create(path.at, await withValue(checking, field, "x".repeat(most + 1)));
    const fine = fits.status === 200 && isRejection(over, field.name, "invalid-value");
    expectThat(
      checking,
      fine,
      `${most} characters answered ${describeResponse(fits)}, one more ${describeResponse(over)}`,
      {
        field: field.name,
      },
    );
  }
}

async function checkMedia(checking: CheckContext): Promise<void> {
  const { path, rows } = checking;
  if (!path.media) return;
  const full = await rows.body(path, "full");
  const form = await rows.create(path.at, new URLSearchParams(toFormFields(full)));
  expectThat(checking, form.status === 200, `POST of a form answered ${describeResponse(form)}`, { operation: "post" });
  if (form.status === 200) checkAccepted(checking, full, form);
  const again = await rows.body(path, "full");
  const parts = await rows.create(path.at, multipartOf(checking, again));
  expectThat(checking, parts.status === 200, `POST of multipart answered ${describeResponse(parts)}`, {
    operation: "post",
  });
  if (parts.status === 200) checkAccepted(checking, again, parts);
}

function hasFile({ path }: CheckContext): boolean {
  return path.fields.some(({ type, in: place }) => type === "file" && place === undefined);
}

function multipartOf({ path }: CheckContext, body: Body): FormData {
  const parts = new FormData();
  for (const [name, value] of toFormFields(body)) parts.append(name, value);
  for (const { name } of path.fields.filter(({ type }) => type === "file")) {
    const isSound = name === "audio";
    const bytes = isSound ? sampleRecording() : SAMPLE_PICTURE;
    parts.append(name, new Blob([new Uint8Array(bytes)]), isSound ? "sample.wav" : "sample.png");
  }
  return parts;
}

/** A change in each media type, by the path and by the id in the body; unnamed fields stay. */
export async function checkChange(checking: CheckContext, item: string): Promise<void> {
  const { path, target } = checking;
  const about = { operation: "put" } as const;
  const collection = item.slice(0, item.lastIndexOf("/"));
  const id = item.slice(item.lastIndexOf("/") + 1);
  const before = await target.request("GET", item);
  const change = await changedBody(checking);
  const [name, value] = Object.entries(change)[0] ?? [];
  if (name === undefined) return;
  const sent: [string, string, Body | URLSearchParams | FormData][] = [
    ["PUT", item, change],
    ["PUT with the id in the body", collection, { ...change, id }],
  ];
  if (path.media) {
    sent.push(["PUT of a form", item, new URLSearchParams(toFormFields(change))]);
    const parts = new FormData();
    for (const [key, text] of toFormFields(change)) parts.append(key, text);
    sent.push(["PUT of multipart", item, parts]);
  }
  for (const [words, at, body] of sent) {
    const heard = await target.request("PUT", at, body);
    expectThat(checking, heard.status === 200, `${words} answered ${describeResponse(heard)}`, about);
    // A change of an alarm's action answers the alarm.
    if (path.at !== "/alarms/{alarmId}/actions" && heard.status === 200) {
      expectThat(checking, getByBrackets(heard.body, name) === value, `${words} left ${name} as it was`, about);
      const kept = shownNames(checking).filter((each) => each !== name && each !== "updatedAt");
      const lost = kept.filter(
        (each) => JSON.stringify(getByBrackets(heard.body, each)) !== JSON.stringify(getByBrackets(before.body, each)),
      );
      expectThat(checking, lost.length === 0, `${words} changed ${lost.join(", ")} too`, about);
    }
  }
}

function shownNames({ path }: CheckContext): string[] {
  return writableFields(path)
    .filter(({ in: place }) => place === undefined)
    .map(({ name }) => name);
}

/** A field that any row may change, with a new value. */
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

/** Deletion: its reply, and that the row is gone. */
export async function checkDeletion(checking: CheckContext, item: string): Promise<void> {
  const about = { operation: "delete" } as const;
  const id = item.slice(item.lastIndexOf("/") + 1);
  const heard = await checking.target.request("DELETE", item);
  const fine = heard.status === 200 && heard.body?.status === 200 && heard.body.message === `deleted ${id}`;
  expectThat(checking, fine, `DELETE answered ${describeResponse(heard)}`, about);
  const after = await checking.target.request("GET", item);
  expectThat(checking, after.status === 404, `after its deletion a row answers ${after.status}`, about);
}
