import { invalidValue, notFound } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import {
  findTemplatesByDeviceGroups,
  findTemplatesByType,
  INFERRED_MESSAGE_TYPES,
} from "../../notifications/compose/message-template-hooks.ts";
import { apiDeviceKeysOfDomain } from "../../places/api-device-hooks.ts";
import deviceGroups from "../../resources/devices/device-groups.ts";
import devices from "../../resources/devices/devices.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import extensions from "../../resources/devices/extensions.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import { NOTIFICATION_SOURCES } from "../../resources/notifications/notification-sources.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { STAGES } from "../../resources/notifications/pipeline-stages.ts";
import apiDevices from "../../resources/places/api-devices.ts";
import bulkUploadLogs from "../../resources/uploads/bulk-upload-logs.ts";
import bulkUploads from "../../resources/uploads/bulk-uploads.ts";
import { canonicalPath } from "../../schema/catalogue.ts";
import { boolean, list, option, uuid } from "../../schema/field.ts";
import type { AccessScope, FieldFilter } from "../../store/store.ts";
import { type Action, type ApiRequest, requireVisibleRow } from "../action.ts";
import { idListParameter, type Query, textParameter } from "../query/query.ts";
import { requireParents } from "../rows/served-path.ts";

const SOURCE = option("A notification source.", NOTIFICATION_SOURCES);
const HEALTH_COLORS = ["GREEN", "YELLOW", "RED"] as const;
type HealthColor = (typeof HEALTH_COLORS)[number];
const STATUSES = { draft: ["draft"], active: STAGES, finished: ["settled"] } as const;
type Status = keyof typeof STATUSES;
const STATUS_NAMES = Object.keys(STATUSES) as [Status, ...Status[]];

const NOTIFICATION_QUERY = {
  draftFilter: option("Only drafts, only non-drafts, or all.", ["draft", "nondraft", "all"]),
  confirmableOnly: boolean("Only notifications that recipients can answer."),
  filterNotificationStatuses: list(
    "Only notifications with one of these states: draft, active or finished.",
    option("A state.", STATUS_NAMES),
  ),
  includeNotificationTypes: list("Only notifications started by one of these sources.", SOURCE),
  excludeNotificationTypes: list("Excludes notifications started by one of these sources.", SOURCE),
  includeByMessageTemplateIds: list("Only notifications of one of these templates.", uuid("Id of a template.")),
};

const LOGS = {
  resource: bulkUploadLogs,
  path: canonicalPath(bulkUploadLogs),
  parents: ["bulkUploadId"],
  idName: bulkUploadLogs.idParam,
};

/** List filters that are not fields of the rows. @source docs/decisions/0042-api-contract.md */
export const listFilterActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications",
    doc: "Lists notifications.",
    query: NOTIFICATION_QUERY,
    response: { kind: "list", resource: notifications },
    handle: async (request) => request.respondWithList(notifications, { filters: notificationFilters(request.query) }),
  },
  {
    method: "get",
    at: "message-templates",
    doc: "Lists message templates.",
    query: {
      inferredMessageType: option("Only templates of this message type.", INFERRED_MESSAGE_TYPES),
      onpremEnabled: boolean("Only templates with (true) or without (false) device groups."),
    },
    response: { kind: "list", resource: messageTemplates },
    async handle(request) {
      const [type] = listValues(request.query, "inferredMessageType", INFERRED_MESSAGE_TYPES);
      const { store } = request.deps;
      const onprem = textParameter(request.query, "onpremEnabled");
      const found = [
        ...(type === undefined ? [] : [findTemplatesByType(store, type)]),
        ...(onprem === null ? [] : [findTemplatesByDeviceGroups(store, onprem === "true")]),
      ];
      const [first, second] = found;
      if (!first) return request.respondWithList(messageTemplates, {});
      const others = new Set(second);
      const pks = second ? first.filter((pk) => others.has(pk)) : first;
      return request.respondWithList(messageTemplates, { pks, pksOf: JSON.stringify([type, onprem]) });
    },
  },
  {
    method: "get",
    at: "extensions/{extensionId}/endpoints",
    doc: "Lists appliances.",
    query: {
      status: option(
        "Only appliances with this health status. The health of unreachable appliances is unknown.",
        HEALTH_COLORS,
      ),
      includedStatuses: list(
        "Only appliances with one of these health statuses.",
        option("A health status.", HEALTH_COLORS),
      ),
    },
    response: { kind: "list", resource: endpoints },
    async handle(request) {
      const within = { extensionId: request.params.extensionId ?? "" };
      if (!request.deps.store.get(extensions, within.extensionId)) throw notFound();
      const requested = [
        ...listValues(request.query, "status", HEALTH_COLORS),
        ...listValues(request.query, "includedStatuses", HEALTH_COLORS),
      ];
      if (requested.length === 0) return request.respondWithList(endpoints, { within });
      const fits = ({ id }: { id: string }): boolean => requested.includes(healthOf(request, id) as HealthColor);
      const ids = request.deps.store.find(endpoints, within).flatMap((row) => (fits(row) ? [row.id] : []));
      return request.respondWithList(endpoints, { within, ids });
    },
  },
  {
    method: "get",
    at: "extensions/{extensionId}/endpoints/{endpointId}",
    doc: "Returns one row.",
    query: {
      includedStatuses: list(
        "Responds 404 unless the health status is one of these.",
        option("A health status.", HEALTH_COLORS),
      ),
    },
    response: { kind: "row", resource: endpoints },
    isVisible: (request, scope) => endpointAt(request, scope) !== null,
    async handle(request) {
      const requested = listValues(request.query, "includedStatuses", HEALTH_COLORS);
      const row = endpointAt(request, request.by.scope);
      if (!row || (requested.length > 0 && !requested.includes(healthOf(request, row.id) as HealthColor)))
        throw notFound();
      return request.respondWithRow(endpoints, row);
    },
  },
  {
    method: "get",
    at: "api-devices",
    doc: "Lists the rows visible to the caller.",
    query: { domainId: uuid("Home domain of the sites of the devices.") },
    response: { kind: "list", resource: apiDevices },
    async handle(request) {
      const domainId = idListParameter(request.query, "domainId")?.[0]?.toLowerCase();
      if (domainId === undefined) return request.respondWithList(apiDevices, {});
      return request.respondWithList(apiDevices, {
        pks: apiDeviceKeysOfDomain(request.deps.store, domainId),
        pksOf: domainId,
      });
    },
  },
  {
    method: "get",
    at: "bulk-uploads",
    doc: "Lists the rows visible to the caller.",
    query: { domainId: uuid("Domain in which the rows are created.") },
    response: { kind: "list", resource: bulkUploads },
    async handle(request) {
      const value = idListParameter(request.query, "domainId")?.[0]?.toLowerCase();
      if (value === undefined) return request.respondWithList(bulkUploads, {});
      return request.respondWithList(bulkUploads, { filters: [{ field: "actingDomainId", op: "eq", value }] });
    },
  },
  {
    method: "get",
    at: "bulk-uploads/{bulkUploadId}/logs",
    doc: "Lists the rows visible to the caller.",
    query: { domainId: uuid("Domain in which the rows of the upload are created; returns all logs or none.") },
    response: { kind: "list", resource: bulkUploadLogs },
    async handle(request) {
      requireParents(LOGS, request);
      const { bulkUploadId = "" } = request.params;
      const domainId = idListParameter(request.query, "domainId")?.[0]?.toLowerCase();
      const upload = request.deps.store.get(bulkUploads, bulkUploadId);
      const fits = domainId === undefined || upload?.actingDomainId === domainId;
      return request.respondWithList(bulkUploadLogs, { within: { bulkUploadId }, ...(fits ? {} : { ids: [] }) });
    },
  },
  {
    method: "get",
    at: "devices/{deviceId}/device-groups",
    rowPath: { at: "device-groups" },
    doc: "Lists the groups of a device.",
    response: { kind: "list", resource: deviceGroups },
    async handle(request) {
      const { id } = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      return request.respondWithList(deviceGroups, { ids: await request.deps.memberships.groupsOf(id) });
    },
  },
];

function endpointAt({ params, deps }: Pick<ApiRequest, "params" | "deps">, scope: AccessScope) {
  const row = deps.store.get(endpoints, params.endpointId ?? "", scope);
  return row?.extensionId === params.extensionId ? row : null;
}

/** Health of an appliance; null if it is unreachable, because its health is unknown then. */
function healthOf({ deps }: Pick<ApiRequest, "deps">, id: string): HealthColor | null {
  return deps.failover(id).state === "unreachable" ? null : deps.monitoring.health().status;
}

function notificationFilters(query: ApiRequest["query"]): FieldFilter[] {
  const filters: FieldFilter[] = [];
  const [draft] = listValues(query, "draftFilter", ["draft", "nondraft", "all"]);
  if (draft === "draft" || draft === "nondraft") filters.push({ field: "draft", op: "eq", value: draft === "draft" });
  if (textParameter(query, "confirmableOnly") === "true") {
    filters.push({ field: "confirmationRequestId", op: "set", value: true });
  }
  const statuses = listValues(query, "filterNotificationStatuses", STATUS_NAMES);
  if (statuses.length > 0) {
    filters.push({ field: "stage", op: "in", value: statuses.flatMap((status) => STATUSES[status]) });
  }
  const included = listValues(query, "includeNotificationTypes", NOTIFICATION_SOURCES);
  if (included.length > 0) filters.push({ field: "notificationSource", op: "in", value: included });
  const excluded = new Set<string>(listValues(query, "excludeNotificationTypes", NOTIFICATION_SOURCES));
  if (excluded.size > 0) {
    const value = NOTIFICATION_SOURCES.filter((source) => !excluded.has(source));
    filters.push({ field: "notificationSource", op: "in", value });
  }
  const templates = listValues(query, "includeByMessageTemplateIds");
  if (templates.length > 0) {
    const value = idListParameter({ includeByMessageTemplateIds: templates }, "includeByMessageTemplateIds") ?? [];
    filters.push({ field: "messageTemplateId", op: "in", value: value.map((id) => id.toLowerCase()) });
  }
  return filters;
}

/**
 * Values given as `name[]=…`, repeated, as a JSON list, comma-separated, or single. Throws invalid-value for values
 * outside `allowed`.
 */
function listValues<T extends string>(query: Query, name: string, allowed?: readonly T[]): T[] {
  const given = query[name];
  if (given === undefined || given === "") return [];
  const texts = (Array.isArray(given) ? given : [given]).flatMap((each: unknown) =>
    typeof each === "string" ? each.replace(/^\[|\]$|"/g, "").split(",") : [each],
  );
  const values = texts.map((each) => (typeof each === "string" ? each.trim() : each)) as T[];
  if (values.length > 200 || values.some((value) => typeof value !== "string" || allowed?.includes(value) === false)) {
    throw invalidValue(
      name,
      allowed
        ? sentence("field.must-be-one-of-values", { values: allowed.join(", ") })
        : sentence("field.must-be-a-string-or-a-list-of-strings"),
    );
  }
  return values;
}
