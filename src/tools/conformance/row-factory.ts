import { UpstreamError } from "../../lib/errors.ts";
import { REFERENCE, type ReferencePath } from "./reference.ts";
import { OMITTED_FIELDS, sampleValue } from "./samples.ts";
import type { ConformanceTarget, TargetResponse } from "./target.ts";

/** Makes rows and bodies on the server that is checked. */
export interface RowFactory {
  /** The id of a row for a field or placeholder such as `userId`: found, or made once. Throws UpstreamError. */
  idFor(name: string): Promise<string>;
  /** The id of a row for such a name that was made for this call alone. */
  createFresh(name: string): Promise<string>;
  /** A concrete path below `/api`, without `/v1`'s placeholders. */
  fillPath(at: string): Promise<string>;
  /** The body of a path: required fields only, or all that can be given together; files are never in it. */
  body(path: ReferencePath, extent: "minimal" | "full"): Promise<Record<string, unknown>>;
  /** Posts, and has the row taken away at the end. */
  create(at: string, body: Parameters<ConformanceTarget["request"]>[2]): Promise<TargetResponse>;
}

/** Where the rows come from that fields of these names point to, when the tables don't say. */
const FAMILIES: Readonly<Record<string, string>> = {
  buildingId: "/sites/{siteId}/buildings",
  floorId: "/sites/{siteId}/buildings/{buildingId}/floors",
  zoneId: "/sites/{siteId}/buildings/{buildingId}/floors/{floorId}/zones",
  baseDeviceGroupId: "/device-groups",
  areaOfInterestId: "/areas-of-interest",
  boundaryTriggerId: "/areas-of-interest/{areaOfInterestId}/boundary-triggers",
  cucmClusterId: "/callmgr-clusters",
  parentId: "/domains",
};

/** Bodies of families that have no table. */
const BODIES: Readonly<Record<string, (rows: RowFactory) => Promise<Record<string, unknown>>>> = {
  "/ring-lists": async () => ({ entries: [] }),
  "/scenarios": async (rows) => ({
    type: "standard",
    backgroundColor: "#336699",
    messages: [{ name: "M", messageTemplateId: await rows.idFor("messageTemplateId") }],
  }),
  "/load-definitions": async () => ({ type: "table" }),
  "/incidents": async (rows) => ({ incidentPlanId: await rows.idFor("incidentPlanId") }),
};

/** Rows that are there on every server, and are not made. */
const EXISTING_ROWS: Readonly<Record<string, { at: string; is?: (row: Record<string, unknown>) => boolean }>> = {
  extensionId: { at: "/extensions", is: ({ type }) => type === "endpoint-proxy" },
  endpointId: { at: "/extensions/{extensionId}/endpoints" },
  alarmId: { at: "/alarms", is: ({ type }) => type === "speakers_unregistered" },
  ttsVoiceId: { at: "/tts-voices" },
};

/** Collections whose rows can't be deleted: they are facts. */
const UNDELETABLE = /\/(activities|events|commit|brandings|alarms)$|bulk-exceptions$/;

/** Rows are found on the server where every server has them, else made once for all that point to them. */
export function createRowFactory(target: ConformanceTarget): RowFactory {
  const ids = new Map<string, Promise<string>>();
  let made = 0;
  const rows: RowFactory = {
    idFor(name) {
      const key = name.replace(/s$/, "");
      const known = ids.get(key) ?? find(key);
      ids.set(key, known);
      return known;
    },
    createFresh: (name) => fresh(name),
    async fillPath(at) {
      let path = at;
      for (const [, name = ""] of at.matchAll(/\{(\w+)\}/g)) path = path.replace(`{${name}}`, await rows.idFor(name));
      return `/v1${path}`;
    },
    async body({ at, fields }, extent) {
      const body: Record<string, unknown> = {};
      made += 1;
      for (const field of fields) {
        if (field.in === "read" || field.in === "query" || field.type === "file") continue;
        if (extent === "minimal" && !field.required && !isNeeded(at, field.name)) continue;
        if (extent === "full" && OMITTED_FIELDS.has(`${at} ${field.name}`)) continue;
        setByBrackets(body, field.name, await valueFor(at, field));
      }
      return body;
    },
    async create(at, body) {
      const path = await rows.fillPath(at);
      const heard = await target.request("POST", path, body);
      const id = heard.body?.id;
      const family = at.endsWith("/clone") ? path.replace(/\/[^/]+\/clone$/, "") : path;
      if (heard.status === 200 && typeof id === "string" && !UNDELETABLE.test(at))
        target.trackForCleanup(`${family}/${id}`);
      return heard;
    },
  };

  const valueFor = async (at: string, field: ReferencePath["fields"][number]): Promise<unknown> => {
    const { name, type } = field;
    if (at === "/collaboration-groups" && name === "type") return channel();
    const points = /^[a-z]\w*Ids?$/.test(name) && !/^(syncId|externalId|referenceId|\w*icopIds)$/.test(name);
    if (!points || /^(additionIds|exclusionIds)$/.test(name)) return sampleValue(at, field, made);
    if (at === "/notifications" && name === "messageTemplateId") return openTemplate();
    if (at === "/users/{userId}/subscriptions") return fresh(name);
    const id = await (isFresh(at, name) ? fresh(name) : rows.idFor(name));
    return type.startsWith("array") ? [id] : id;
  };

  const find = async (name: string): Promise<string> => {
    const found = EXISTING_ROWS[name];
    if (!found) return fresh(name);
    const { body } = await target.request("GET", `${await rows.fillPath(found.at)}?limit=1000`);
    const row = ((body?.data ?? []) as Record<string, unknown>[]).find(found.is ?? (() => true));
    if (!row) throw new UpstreamError("upstream", `GET ${found.at} has no row to go on with.`);
    return String(row.id);
  };

  const fresh = async (name: string): Promise<string> => {
    const at = FAMILIES[name] ?? familyOf(name);
    const path = REFERENCE.find((each) => each.at === at);
    const own = path ? await rows.body(path, "minimal") : await BODIES[at]?.(rows);
    made += 1;
    const { status, body } = await rows.create(at, { name: `Conform ${made}`, ...own });
    if (status !== 200) throw new UpstreamError("upstream", `POST ${at}: ${status} ${String(body?.message)}`);
    return String(body?.id);
  };

  /** The type of groups that an extension serves; made once. */
  const channel = async (): Promise<string> => {
    if (!ids.has("channel")) {
      const body = { name: "Conform", type: "collaboration", deviceType: "conform-channel" };
      ids.set(
        "channel",
        rows.create("/extensions", body).then(() => body.deviceType),
      );
    }
    return ids.get("channel") as Promise<string>;
  };

  /** A template that leaves everything to the sender. */
  const openTemplate = async (): Promise<string> => {
    const path = REFERENCE.find(({ at }) => at === "/message-templates") as ReferencePath;
    const open = path.fields.filter((field) => field.name.endsWith("Customizable")).map(({ name }) => [name, true]);
    const body = {
      ...(await rows.body(path, "minimal")),
      ...Object.fromEntries(open),
      userIds: [await rows.idFor("userId")],
    };
    return String((await rows.create("/message-templates", body)).body?.id);
  };
  return rows;
}

/** Fields that a table does not call required, and without which there is nothing to make. */
function isNeeded(at: string, name: string): boolean {
  if (at === "/areas-of-interest") return name.startsWith("geometryValue");
  if (at === "/alarms/{alarmId}/events") return name === "status";
  if (at === "/notifications") return name === "messageTemplateId";
  if (at === "/bell-schedules-bulk-exceptions") return name === "bellScheduleIds";
  if (at === "/users/{userId}/devices") return name === "name" || name === "deviceIdentifier";
  return at === "/callmgr-clusters" && name === "snmpCommunity";
}

/** Where each row needs another one to point to. */
function isFresh(at: string, name: string): boolean {
  return (name === "userId" || name === "scimGroupId") && at.startsWith("/distribution-lists");
}

/** `/message-templates` of `messageTemplateId`. */
function familyOf(name: string): string {
  const words = name.replace(/Id$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `/${words.endsWith("y") ? `${words.slice(0, -1)}ies` : `${words}s`}`;
}

/** Puts a value where brackets say: `campaign[url]`. */
export function setByBrackets(body: Record<string, unknown>, name: string, value: unknown): void {
  const steps = name.split(/[[\]]+/).filter((step) => step !== "");
  const last = steps.pop() as string;
  let place = body;
  for (const step of steps) {
    place[step] ??= {};
    place = place[step] as Record<string, unknown>;
  }
  place[last] = value;
}

/** What stands where brackets say; undefined when it is not there. */
export function getByBrackets(body: Readonly<Record<string, unknown>> | null, name: string): unknown {
  const steps = name.split(/[[\]]+/).filter((step) => step !== "");
  return steps.reduce<unknown>((place, step) => (place as Record<string, unknown> | null | undefined)?.[step], body);
}

/** The same body as names and texts of a form, nested names in brackets. */
export function toFormFields(body: Readonly<Record<string, unknown>>, within = ""): [string, string][] {
  return Object.entries(body).flatMap(([key, value]): [string, string][] => {
    const name = within ? `${within}[${key}]` : key;
    if (Array.isArray(value)) {
      return value.flatMap((item) => (isObject(item) ? [] : [[`${name}[]`, String(item)] as [string, string]]));
    }
    return isObject(value) ? toFormFields(value, name) : [[name, String(value)]];
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
