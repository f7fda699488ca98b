import { UpstreamError } from "../../lib/errors.ts";
import { REFERENCE, type ReferencePath } from "./reference.ts";
import { OMITTED_FIELDS, sampleValue } from "./samples.ts";
import type { ConformanceTarget, TargetResponse } from "./target.ts";

/** Creates rows and request bodies for the checked server. */
export interface RowFactory {
  /** Id of a row for a field or placeholder such as `userId`: an existing one, or one created once. Throws UpstreamError. */
  idFor(name: string): Promise<string>;
  /** Id of a new row for such a name, created for this call only. */
  createFresh(name: string): Promise<string>;
  /** A concrete path below `/api`, with all placeholders filled in. */
  fillPath(at: string): Promise<string>;
  /** Request body of a path: required fields only, or all fields that can be combined; never with files. */
  body(path: ReferencePath, extent: "minimal" | "full"): Promise<Record<string, unknown>>;
  /** Sends a POST; the row is deleted at the end. */
  create(at: string, body: Parameters<ConformanceTarget["request"]>[2]): Promise<TargetResponse>;
}

/** Resources that fields of these names refer to, where the naming rule does not apply. */
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

/** Request bodies of resources that are not part of the reference. */
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

/** Rows that exist on every server. */
const EXISTING_ROWS: Readonly<Record<string, { at: string; is?: (row: Record<string, unknown>) => boolean }>> = {
  extensionId: { at: "/extensions", is: ({ type }) => type === "endpoint-proxy" },
  endpointId: { at: "/extensions/{extensionId}/endpoints" },
  alarmId: { at: "/alarms", is: ({ type }) => type === "speakers_unregistered" },
  ttsVoiceId: { at: "/tts-voices" },
};

/** Paths whose rows can't be deleted, as they are append-only. */
const UNDELETABLE = /\/(activities|events|commit|brandings|alarms)$|bulk-exceptions$/;

/** Uses existing rows where every server has some, else creates one row that all references share. */
export function createRowFactory(target: ConformanceTarget): RowFactory {
  const ids = new Map<string, Promise<string>>();
  let createdCount = 0;
  const rows: RowFactory = {
    idFor(name) {
      const key = name.replace(/s$/, "");
      const id = ids.get(key) ?? find(key);
      ids.set(key, id);
      return id;
    },
    createFresh: (name) => fresh(name),
    async fillPath(at) {
      let path = at;
      for (const [, name = ""] of at.matchAll(/\{(\w+)\}/g)) path = path.replace(`{${name}}`, await rows.idFor(name));
      return `/v1${path}`;
    },
    async body({ at, fields }, extent) {
      const body: Record<string, unknown> = {};
      createdCount += 1;
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
      const response = await target.request("POST", path, body);
      const id = response.body?.id;
      const family = at.endsWith("/clone") ? path.replace(/\/[^/]+\/clone$/, "") : path;
      if (response.status === 200 && typeof id === "string" && !UNDELETABLE.test(at))
        target.trackForCleanup(`${family}/${id}`);
      return response;
    },
  };

  const valueFor = async (at: string, field: ReferencePath["fields"][number]): Promise<unknown> => {
    const { name, type } = field;
    if (at === "/collaboration-groups" && name === "type") return channel();
    const isReference = /^[a-z]\w*Ids?$/.test(name) && !/^(syncId|externalId|referenceId|\w*icopIds)$/.test(name);
    if (!isReference || /^(additionIds|exclusionIds)$/.test(name)) return sampleValue(at, field, createdCount);
    if (at === "/notifications" && name === "messageTemplateId") return openTemplate();
    if (at === "/users/{userId}/subscriptions") return fresh(name);
    const id = await (isFresh(at, name) ? fresh(name) : rows.idFor(name));
    return type.startsWith("array") ? [id] : id;
  };

  const find = async (name: string): Promise<string> => {
    const existing = EXISTING_ROWS[name];
    if (!existing) return fresh(name);
    const { body } = await target.request("GET", `${await rows.fillPath(existing.at)}?limit=1000`);
    const row = ((body?.data ?? []) as Record<string, unknown>[]).find(existing.is ?? (() => true));
    if (!row) throw new UpstreamError("upstream", `GET ${existing.at} returned no suitable row.`);
    return String(row.id);
  };

  const fresh = async (name: string): Promise<string> => {
    const at = FAMILIES[name] ?? familyOf(name);
    const path = REFERENCE.find((each) => each.at === at);
    const own = path ? await rows.body(path, "minimal") : await BODIES[at]?.(rows);
    createdCount += 1;
    const { status, body } = await rows.create(at, { name: `Conform ${createdCount}`, ...own });
    if (status !== 200) throw new UpstreamError("upstream", `POST ${at}: ${status} ${String(body?.message)}`);
    return String(body?.id);
  };

  /** A group type that an extension serves; created once. */
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

  /** A template whose fields can all be set by the sender. */
  const openTemplate = async (): Promise<string> => {
    const path = REFERENCE.find(({ at }) => at === "/message-templates") as ReferencePath;
    const customizable = path.fields
      .filter((field) => field.name.endsWith("Customizable"))
      .map(({ name }) => [name, true]);
    const body = {
      ...(await rows.body(path, "minimal")),
      ...Object.fromEntries(customizable),
      userIds: [await rows.idFor("userId")],
    };
    return String((await rows.create("/message-templates", body)).body?.id);
  };
  return rows;
}

/** Fields that are not documented as required but needed to create a row. */
function isNeeded(at: string, name: string): boolean {
  if (at === "/areas-of-interest") return name.startsWith("geometryValue");
  if (at === "/alarms/{alarmId}/events") return name === "status";
  if (at === "/notifications") return name === "messageTemplateId";
  if (at === "/bell-schedules-bulk-exceptions") return name === "bellScheduleIds";
  if (at === "/users/{userId}/devices") return name === "name" || name === "deviceIdentifier";
  return at === "/callmgr-clusters" && name === "snmpCommunity";
}

/** True where each row must refer to a row of its own. */
function isFresh(at: string, name: string): boolean {
  return (name === "userId" || name === "scimGroupId") && at.startsWith("/distribution-lists");
}

/** `messageTemplateId` to `/message-templates`. */
function familyOf(name: string): string {
  const words = name.replace(/Id$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `/${words.endsWith("y") ? `${words.slice(0, -1)}ies` : `${words}s`}`;
}

/** Sets a value by its bracket name, such as `campaign[url]`. */
export function setByBrackets(body: Record<string, unknown>, name: string, value: unknown): void {
  const steps = name.split(/[[\]]+/).filter((step) => step !== "");
  const last = steps.pop() as string;
  let target = body;
  for (const step of steps) {
    target[step] ??= {};
    target = target[step] as Record<string, unknown>;
  }
  target[last] = value;
}

/** Reads a value by its bracket name; undefined if absent. */
export function getByBrackets(body: Readonly<Record<string, unknown>> | null, name: string): unknown {
  const steps = name.split(/[[\]]+/).filter((step) => step !== "");
  return steps.reduce<unknown>((target, step) => (target as Record<string, unknown> | null | undefined)?.[step], body);
}

/** The body as form fields, nested members with bracket names. */
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
