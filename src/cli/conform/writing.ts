import { type Checking, expect, givenFields, heardWords, refuses } from "./findings.ts";
import { checkItem } from "./reading.ts";
import type { ReferenceField } from "./reference.ts";
import { formOf, get, set } from "./rows.ts";
import { NEVER_GIVEN, PICTURE, recording } from "./samples.ts";
import type { Heard } from "./target.ts";

type Body = Record<string, unknown>;

/** Creation: what is required, what is taken, in which media types, and what is refused. Returns the path of a row. */
export async function checkCreation(checking: Checking): Promise<string | null> {
  const { path, rows } = checking;
  const about = { operation: "post" } as const;
  await checkRequired(checking);
  if (UNDER_CONDITIONS.has(path.at)) return null;
  const least = await rows.create(path.at, await leastBody(checking));
  expect(checking, least.status === 200, `POST of what is required answered ${heardWords(least)}`, about);
  const full = await rows.body(path, "full");
  const made = await rows.create(path.at, hasFile(checking) ? multipartOf(checking, full) : full);
  if (expect(checking, made.status === 200, `POST of all fields answered ${heardWords(made)}`, about))
    checkTaken(checking, full, made);
  await checkOptions(checking);
  await checkLengths(checking);
  await checkMedia(checking);
  const id = made.body?.id ?? least.body?.id;
  if (id === undefined || !path.methods.includes("get")) return null;
  const item = `${await rows.fill(path.at)}/${String(id)}`;
  await checkItem(checking, item);
  return item;
}

/** Rows that are made by hand under conditions that nobody documents. @source service-api.md, Alarms */
const UNDER_CONDITIONS: ReadonlySet<string> = new Set(["/alarms/{alarmId}/events"]);

async function leastBody(checking: Checking): Promise<Body | FormData> {
  const body = await checking.rows.body(checking.path, "minimal");
  return Object.keys(body).length === 0 && hasFile(checking) ? multipartOf(checking, body) : body;
}

async function checkRequired(checking: Checking): Promise<void> {
  const { path, rows } = checking;
  for (const { name } of givenFields(path).filter(({ required }) => required)) {
    const body = await rows.body(path, "minimal");
    delete body[name];
    const heard = await rows.create(path.at, body);
    expect(checking, refuses(heard, name, "required"), `POST without ${name} answered ${heardWords(heard)}`, {
      field: name,
    });
  }
}

/** What was sent is what is answered. */
function checkTaken(checking: Checking, sent: Body, { body }: Heard): void {
  for (const { name, type, in: place } of givenFields(checking.path)) {
    const [value, answered] = [get(sent, name), get(body, name)];
    const about = { field: name };
    if (place === "write") expect(checking, answered === undefined, `${name} is answered, which is only taken`, about);
    else if (type === "file") expect(checking, Number(answered) > 0, `the file of ${name} was not kept`, about);
    else if (value === null || typeof value !== "object") {
      if (value === undefined) continue;
      const words = `${name} was sent as ${JSON.stringify(value)} and is answered as ${JSON.stringify(answered)}`;
      expect(checking, answered === value, words, about);
    }
  }
}

async function checkOptions(checking: Checking): Promise<void> {
  const { path, rows } = checking;
  for (const field of givenFields(path).filter(({ options }) => options)) {
    const about = { field: field.name };
    const wrong = await withValue(checking, field, "no-such-option");
    const refused = await rows.create(path.at, wrong);
    expect(
      checking,
      refuses(refused, field.name, "invalid-value"),
      `POST of another ${field.name} answered ${heardWords(refused)}`,
      about,
    );
    for (const option of field.options ?? []) {
      const heard = await offer(checking, field, option);
      expect(checking, heard.status === 200, `${field.name} ${option} answered ${heardWords(heard)}`, about);
    }
  }
}

/** An option is made a row with, which goes at once; where that would do harm, lists are narrowed by it. */
async function offer(checking: Checking, field: ReferenceField, option: string): Promise<Heard> {
  const { path, rows, target } = checking;
  const at = await rows.fill(path.at);
  if (NEVER_GIVEN.has(`${path.at} ${field.name}`)) return target.ask("GET", `${at}?${field.name}=${option}`);
  const heard = await rows.create(path.at, await withValue(checking, field, option));
  // Some families have room for a few rows only.
  if (heard.status === 200 && (path.more || path.methods.includes("delete")))
    await target.ask("DELETE", `${at}/${String(heard.body?.id)}`);
  return heard;
}

async function withValue({ path, rows }: Checking, { name, type }: ReferenceField, value: unknown): Promise<Body> {
  const body = await rows.body(path, "minimal");
  if (name === "filterType" && value === "LOGICAL_EXPRESSION") Object.assign(body, pick(await rows.body(path, "full")));
  if (name === "notificationAction") Object.assign(body, pick(await rows.body(path, "full"), ["messageTemplateId"]));
  set(body, name, type.startsWith("array") ? [value] : value);
  return body;
}

function pick(body: Body, names: readonly string[] = ["filters", "logicalExpression"]): Body {
  return Object.fromEntries(names.map((name) => [name, body[name]]));
}

async function checkLengths(checking: Checking): Promise<void> {
  const { path, rows } = checking;
  for (const field of givenFields(path).filter(({ max }) => max)) {
    const most = field.max as number;
    const fits = await rows.create(path.at, await withValue(checking, field, "x".repeat(most)));
    const over = await rows.create(path.at, await withValue(checking, field, "x".repeat(most + 1)));
    const fine = fits.status === 200 && refuses(over, field.name, "invalid-value");
    expect(checking, fine, `${most} characters answered ${heardWords(fits)}, one more ${heardWords(over)}`, {
      field: field.name,
    });
  }
}

async function checkMedia(checking: Checking): Promise<void> {
  const { path, rows } = checking;
  if (!path.media) return;
  const full = await rows.body(path, "full");
  const form = await rows.create(path.at, new URLSearchParams(formOf(full)));
  expect(checking, form.status === 200, `POST of a form answered ${heardWords(form)}`, { operation: "post" });
  if (form.status === 200) checkTaken(checking, full, form);
  const again = await rows.body(path, "full");
  const parts = await rows.create(path.at, multipartOf(checking, again));
  expect(checking, parts.status === 200, `POST of multipart answered ${heardWords(parts)}`, { operation: "post" });
  if (parts.status === 200) checkTaken(checking, again, parts);
}

function hasFile({ path }: Checking): boolean {
  return path.fields.some(({ type, in: place }) => type === "file" && place === undefined);
}

function multipartOf({ path }: Checking, body: Body): FormData {
  const parts = new FormData();
  for (const [name, value] of formOf(body)) parts.append(name, value);
  for (const { name } of path.fields.filter(({ type }) => type === "file")) {
    const isSound = name === "audio";
    const bytes = isSound ? recording() : PICTURE;
    parts.append(name, new Blob([new Uint8Array(bytes)]), isSound ? "sample.wav" : "sample.png");
  }
  return parts;
}

/** A change in each media type, by the path and by the id in the body; unnamed fields stay. */
export async function checkChange(checking: Checking, item: string): Promise<void> {
  const { path, target } = checking;
  const about = { operation: "put" } as const;
  const collection = item.slice(0, item.lastIndexOf("/"));
  const id = item.slice(item.lastIndexOf("/") + 1);
  const before = await target.ask("GET", item);
  const change = await changeOf(checking);
  const [name, value] = Object.entries(change)[0] ?? [];
  if (name === undefined) return;
  const sent: [string, string, Body | URLSearchParams | FormData][] = [
    ["PUT", item, change],
    ["PUT with the id in the body", collection, { ...change, id }],
  ];
  if (path.media) {
    sent.push(["PUT of a form", item, new URLSearchParams(formOf(change))]);
    const parts = new FormData();
    for (const [key, text] of formOf(change)) parts.append(key, text);
    sent.push(["PUT of multipart", item, parts]);
  }
  for (const [words, at, body] of sent) {
    const heard = await target.ask("PUT", at, body);
    expect(checking, heard.status === 200, `${words} answered ${heardWords(heard)}`, about);
    // A change of an alarm's action answers the alarm.
    if (path.at !== "/alarms/{alarmId}/actions" && heard.status === 200) {
      expect(checking, get(heard.body, name) === value, `${words} left ${name} as it was`, about);
      const kept = shownNames(checking).filter((each) => each !== name && each !== "updatedAt");
      const lost = kept.filter(
        (each) => JSON.stringify(get(heard.body, each)) !== JSON.stringify(get(before.body, each)),
      );
      expect(checking, lost.length === 0, `${words} changed ${lost.join(", ")} too`, about);
    }
  }
}

function shownNames({ path }: Checking): string[] {
  return givenFields(path)
    .filter(({ in: place }) => place === undefined)
    .map(({ name }) => name);
}

/** A field that any row may change, with a new value. */
async function changeOf({ path, rows }: Checking): Promise<Body> {
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
export async function checkDeletion(checking: Checking, item: string): Promise<void> {
  const about = { operation: "delete" } as const;
  const id = item.slice(item.lastIndexOf("/") + 1);
  const heard = await checking.target.ask("DELETE", item);
  const fine = heard.status === 200 && heard.body?.status === 200 && heard.body.message === `deleted ${id}`;
  expect(checking, fine, `DELETE answered ${heardWords(heard)}`, about);
  const after = await checking.target.ask("GET", item);
  expect(checking, after.status === 404, `after its deletion a row answers ${after.status}`, about);
}
