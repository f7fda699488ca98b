import { invalidValue, notFound } from "../../base/errors.ts";
import { INFERRED_MESSAGE_TYPES, templatesForAppliances, templatesOfType } from "../../broadcast/template-behaviour.ts";
import { devicesOfDomain } from "../../places/api-device-behaviour.ts";
import { NOTIFICATION_SOURCES } from "../../resources/broadcasts/notification-sources.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import { STAGES } from "../../resources/broadcasts/stages.ts";
import deviceGroups from "../../resources/devices/device-groups.ts";
import devices from "../../resources/devices/devices.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import extensions from "../../resources/devices/extensions.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import apiDevices from "../../resources/places/api-devices.ts";
import bulkUploadLogs from "../../resources/uploads/bulk-upload-logs.ts";
import bulkUploads from "../../resources/uploads/bulk-uploads.ts";
import { canonicalPath } from "../../schema/catalogue.ts";
import { boolean, list, option, uuid } from "../../schema/field.ts";
import type { Filter, Scope } from "../../store/store.ts";
import { type Action, type ApiRequest, visibleRow } from "../action.ts";
import { idTexts, type Query, singleText } from "../query.ts";
import { requireParents } from "../served-path.ts";

const SOURCE = option("A source.", NOTIFICATION_SOURCES);
const COLOURS = ["GREEN", "YELLOW", "RED"] as const;
type Colour = (typeof COLOURS)[number];
const STATUSES = { draft: ["draft"], active: STAGES, finished: ["settled"] } as const;
type Status = keyof typeof STATUSES;
const STATUS_NAMES = Object.keys(STATUSES) as [Status, ...Status[]];

const ABOUT_NOTIFICATIONS = {
  draftFilter: option("Previews alone, everything but previews, or all.", ["draft", "nondraft", "all"]),
  confirmableOnly: boolean("Those that recipients can answer."),
  filterNotificationStatuses: list(
    "own choice: how far they are: previews, under way, or over.",
    option("One.", STATUS_NAMES),
  ),
  includeNotificationTypes: list("own choice: those started by one of these sources.", SOURCE),
  excludeNotificationTypes: list("own choice: those started by none of these sources.", SOURCE),
  includeByMessageTemplateIds: list("Those made from one of these templates.", uuid("Its id.")),
};

const LOGS = {
  resource: bulkUploadLogs,
  path: canonicalPath(bulkUploadLogs),
  parents: ["bulkUploadId"],
  idName: bulkUploadLogs.idParam,
};

/** Lists narrowed by what is no field of their rows. @source digest, the parameters of each path */
export const listFilterActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications",
    doc: "Lists notifications.",
    query: ABOUT_NOTIFICATIONS,
    answers: { kind: "list", resource: notifications },
    handle: async (request) => request.list(notifications, { filters: notificationFilters(request.query) }),
  },
  {
    method: "get",
    at: "message-templates",
    doc: "Lists templates.",
    query: {
      inferredMessageType: option("What a message made from it is.", INFERRED_MESSAGE_TYPES),
      onpremEnabled: boolean("own choice: those that reach devices of appliances by a group, or only the others."),
    },
    answers: { kind: "list", resource: messageTemplates },
    async handle(request) {
      const [type] = valuesOf(request.query, "inferredMessageType", INFERRED_MESSAGE_TYPES);
      const { store } = request.needs;
      const onprem = singleText(request.query, "onpremEnabled");
      const found = [
        ...(type === undefined ? [] : [templatesOfType(store, type)]),
        ...(onprem === null ? [] : [templatesForAppliances(store, onprem === "true")]),
      ];
      const [first, second] = found;
      if (!first) return request.list(messageTemplates, {});
      const others = new Set(second);
      const pks = second ? first.filter((pk) => others.has(pk)) : first;
      return request.list(messageTemplates, { pks, pksOf: JSON.stringify([type, onprem]) });
    },
  },
  {
    method: "get",
    at: "extensions/{extensionId}/endpoints",
    doc: "Lists appliances.",
    query: {
      status: option("Health in one word. own choice: that of others is not known here.", COLOURS),
      includedStatuses: list("Several of them.", option("One.", COLOURS)),
    },
    answers: { kind: "list", resource: endpoints },
    async handle(request) {
      const within = { extensionId: request.params.extensionId ?? "" };
      if (!request.needs.store.get(extensions, within.extensionId)) throw notFound();
      const asked = [
        ...valuesOf(request.query, "status", COLOURS),
        ...valuesOf(request.query, "includedStatuses", COLOURS),
      ];
      if (asked.length === 0) return request.list(endpoints, { within });
      const fits = ({ id }: { id: string }): boolean => asked.includes(healthOf(request, id) as Colour);
      const ids = request.needs.store.find(endpoints, within).flatMap((row) => (fits(row) ? [row.id] : []));
      return request.list(endpoints, { within, ids });
    },
  },
  {
    method: "get",
    at: "extensions/{extensionId}/endpoints/{endpointId}",
    doc: "Shows one.",
    query: {
      includedStatuses: list("own choice: not found unless its health is one of these.", option("One.", COLOURS)),
    },
    answers: { kind: "row", resource: endpoints },
    sees: (request, scope) => endpointAt(request, scope) !== null,
    async handle(request) {
      const asked = valuesOf(request.query, "includedStatuses", COLOURS);
      const row = endpointAt(request, request.by.scope);
      if (!row || (asked.length > 0 && !asked.includes(healthOf(request, row.id) as Colour))) throw notFound();
      return request.show(endpoints, row);
    },
  },
  {
    method: "get",
    at: "api-devices",
    doc: "Lists what the caller may see.",
    query: { domainId: uuid("Home domain of their sites.") },
    answers: { kind: "list", resource: apiDevices },
    async handle(request) {
      const domainId = idTexts(request.query, "domainId")?.[0]?.toLowerCase();
      if (domainId === undefined) return request.list(apiDevices, {});
      return request.list(apiDevices, { pks: devicesOfDomain(request.needs.store, domainId), pksOf: domainId });
    },
  },
  {
    method: "get",
    at: "bulk-uploads",
    doc: "Lists what the caller may see.",
    query: { domainId: uuid("Domain that their rows are made in.") },
    answers: { kind: "list", resource: bulkUploads },
    async handle(request) {
      const value = idTexts(request.query, "domainId")?.[0]?.toLowerCase();
      if (value === undefined) return request.list(bulkUploads, {});
      return request.list(bulkUploads, { filters: [{ field: "actingDomainId", op: "eq", value }] });
    },
  },
  {
    method: "get",
    at: "bulk-uploads/{bulkUploadId}/logs",
    doc: "Lists what the caller may see.",
    query: { domainId: uuid("Domain that the upload's rows are made in: all of its logs, or none.") },
    answers: { kind: "list", resource: bulkUploadLogs },
    async handle(request) {
      requireParents(LOGS, request);
      const { bulkUploadId = "" } = request.params;
      const domainId = idTexts(request.query, "domainId")?.[0]?.toLowerCase();
      const upload = request.needs.store.get(bulkUploads, bulkUploadId);
      const fits = domainId === undefined || upload?.actingDomainId === domainId;
      return request.list(bulkUploadLogs, { within: { bulkUploadId }, ...(fits ? {} : { ids: [] }) });
    },
  },
  {
    method: "get",
    at: "devices/{deviceId}/device-groups",
    shownAt: { at: "device-groups" },
    doc: "Lists the groups that a device is in.",
    answers: { kind: "list", resource: deviceGroups },
    async handle(request) {
      const { id } = visibleRow(request, devices, request.params.deviceId ?? "");
      return request.list(deviceGroups, { ids: await request.needs.memberships.groupsOf(id) });
    },
  },
];

function endpointAt({ params, needs }: Pick<ApiRequest, "params" | "needs">, scope: Scope) {
  const row = needs.store.get(endpoints, params.endpointId ?? "", scope);
  return row?.extensionId === params.extensionId ? row : null;
}

/** Health of an appliance; null for others, which are out of reach, and their health with them. */
function healthOf({ needs }: Pick<ApiRequest, "needs">, id: string): Colour | null {
  return needs.failover(id).state === "unreachable" ? null : needs.watch.health().status;
}

function notificationFilters(query: ApiRequest["query"]): Filter[] {
  const filters: Filter[] = [];
  const [draft] = valuesOf(query, "draftFilter", ["draft", "nondraft", "all"]);
  if (draft === "draft" || draft === "nondraft") filters.push({ field: "draft", op: "eq", value: draft === "draft" });
  if (singleText(query, "confirmableOnly") === "true") {
    filters.push({ field: "confirmationRequestId", op: "set", value: true });
  }
  const statuses = valuesOf(query, "filterNotificationStatuses", STATUS_NAMES);
  if (statuses.length > 0) {
    filters.push({ field: "stage", op: "in", value: statuses.flatMap((status) => STATUSES[status]) });
  }
  const included = valuesOf(query, "includeNotificationTypes", NOTIFICATION_SOURCES);
  if (included.length > 0) filters.push({ field: "notificationSource", op: "in", value: included });
  const excluded = new Set<string>(valuesOf(query, "excludeNotificationTypes", NOTIFICATION_SOURCES));
  if (excluded.size > 0) {
    const value = NOTIFICATION_SOURCES.filter((source) => !excluded.has(source));
    filters.push({ field: "notificationSource", op: "in", value });
  }
  const templates = valuesOf(query, "includeByMessageTemplateIds");
  if (templates.length > 0) {
    const value = idTexts({ includeByMessageTemplateIds: templates }, "includeByMessageTemplateIds") ?? [];
    filters.push({ field: "messageTemplateId", op: "in", value: value.map((id) => id.toLowerCase()) });
  }
  return filters;
}

/** Values given as `name[]=…`, repeated, as a JSON list, with commas between, or alone. Throws invalid-value for others than `allowed`. */
function valuesOf<T extends string>(query: Query, name: string, allowed?: readonly T[]): T[] {
  const given = query[name];
  if (given === undefined || given === "") return [];
  const texts = (Array.isArray(given) ? given : [given]).flatMap((each: unknown) =>
    typeof each === "string" ? each.replace(/^\[|\]$|"/g, "").split(",") : [each],
  );
  const values = texts.map((each) => (typeof each === "string" ? each.trim() : each)) as T[];
  if (values.length > 200 || values.some((value) => typeof value !== "string" || allowed?.includes(value) === false)) {
    throw invalidValue(name, allowed ? `One of ${allowed.join(", ")} is expected.` : "Texts are expected.");
  }
  return values;
}
