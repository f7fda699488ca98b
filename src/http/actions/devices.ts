import { activationPredicates } from "../../devices/activation-query.ts";
import { findDevices } from "../../devices/device-query.ts";
import { pagingZoneSdp } from "../../devices/paging-zone-sdp.ts";
import { notFound } from "../../lib/errors.ts";
import activationGroups from "../../resources/devices/activation-groups.ts";
import deviceGroups from "../../resources/devices/device-groups.ts";
import devices from "../../resources/devices/devices.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import extensions from "../../resources/devices/extensions.ts";
import { boolean, json, text, timestamp, uuid } from "../../schema/field.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { PageQuery, Store } from "../../store/store.ts";
import { type Action, type ApiRequest, jsonResponse as answerJson, requireVisibleRow } from "../action.ts";

const ACTIVE_ONLY = { field: "defunct", op: "eq", value: false } as const;

const DEVICE_FILTERS = {
  name: text("Part of the description.", { max: 255 }),
  deviceGroupId: uuid("Group whose members are listed."),
  deviceGroup: json("A group that is not stored, as the fields of device groups."),
  types: json("Device types, one or several."),
  icopIds: json("Ids of devices, one or several."),
  attributes: json("Attributes and the values they must have."),
  includeDefunct: boolean("Defunct devices too.", { default: false }),
  includeNonConfiguredSpeakers: boolean("False leaves out speakers that are not set up yet, by IsConfigured.", {
    default: true,
  }),
  includeUnregisteredSpeakers: boolean("False leaves out speakers that are known not to be registered.", {
    default: true,
  }),
  activationGroupId: uuid("Activation group whose devices are listed."),
  activationGroup: json(
    "An activation group that is not stored, as their fields: with a priority, what groups ahead of it would leave to it; with an id, in place of the stored one.",
  ),
  disregardPriority: boolean("Devices that an activation group describes, whatever other group they are in.", {
    default: false,
  }),
  endpointIdToBeReachableBy: uuid(
    "Appliance that may activate the devices: one that their activation group names, or that serves them when they are in none.",
  ),
  onlyUnallocated: boolean("Devices that are in no activation group.", { default: false }),
};

const QUIET_TEST = {
  testedAt: timestamp("When it was tested.", { required: true }),
  provenAt: timestamp("When the way was proven; null when it was not."),
  provenBy: devices.fields.provenBy,
  fault: text("Why it was not proven.", { max: 1_000 }),
};

/** Lists of devices take filters that are computed over groups and attributes. @source service-api.md, /v1/devices and /v1/extensions/{extensionId}/devices */
export const deviceActions: readonly Action[] = [
  {
    // own choice: where every device of the organisation is listed, defunct ones are left out unless they are asked for.
    method: "get",
    at: "devices",
    doc: "Lists devices of the whole organisation; defunct ones only where they are asked for.",
    query: DEVICE_FILTERS,
    response: { kind: "list", resource: devices },
    handle: (request) => {
      const { includeDefunct, defunct } = request.query;
      return listDevices(request, {}, includeDefunct === true || defunct !== undefined ? [] : [ACTIVE_ONLY]);
    },
  },
  {
    method: "get",
    at: "extensions/{extensionId}/devices",
    doc: "Lists devices of an extension.",
    query: DEVICE_FILTERS,
    response: { kind: "list", resource: devices },
    async handle(request) {
      const { extensionId = "" } = request.params;
      if (!request.needs.store.get(extensions, extensionId)) throw notFound();
      return listDevices(request, { extensionId });
    },
  },
  {
    method: "post",
    at: "extensions/{extensionId}/devices",
    doc: "Makes one; the appliance need not be named where the extension has one only.",
    response: { kind: "row", resource: devices },
    accepts: { ...devices.fields, endpointId: { ...devices.fields.endpointId, required: false } },
    supportsDryRun: true,
    async handle(request) {
      const { needs, params, body, by } = request;
      const { extensionId = "" } = params;
      if (!needs.store.get(extensions, extensionId)) throw notFound();
      const given = { ...body, extensionId, endpointId: body.endpointId ?? onlyEndpoint(needs.store, extensionId) };
      return request.respondWithRow(devices, await needs.store.create(devices, given, by));
    },
  },
  {
    method: "get",
    at: "extensions/{extensionId}/endpoints/{endpointId}/devices",
    doc: "Lists devices of an appliance.",
    query: DEVICE_FILTERS,
    response: { kind: "list", resource: devices },
    async handle(request) {
      const { extensionId = "", endpointId = "" } = request.params;
      if (request.needs.store.get(endpoints, endpointId)?.extensionId !== extensionId) throw notFound();
      return listDevices(request, { extensionId, endpointId });
    },
  },
  {
    // own choice: the path.
    method: "post",
    at: "devices/{deviceId}/quiet-test",
    doc: "Tests the way to a device without anybody hearing or seeing it, and tells what was found.",
    response: { kind: "members", fields: QUIET_TEST },
    async handle(request) {
      const device = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      const { testedAt, provenAt, provenBy, fault } = await request.needs.silentTests.testDevice(device);
      return answerJson({ testedAt: isoOf(testedAt), provenAt: isoOf(provenAt), provenBy, fault });
    },
  },
  {
    // own choice: the path.
    method: "get",
    at: "devices/{deviceId}/zone.sdp",
    doc: "Where a multicast zone is to be heard, as a session description that players and encoders take.",
    response: { kind: "bytes", types: ["application/sdp"] },
    async handle(request) {
      const device = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      const attributes = device.attributes as Record<string, string>;
      const sdp = pagingZoneSdp({ ...device, attributes });
      if (sdp === null) throw notFound();
      const headers = { "Content-Disposition": "attachment; filename=zone.sdp" };
      return { type: "application/sdp", headers, body: sdp };
    },
  },
  {
    // own choice: beside `/devices?deviceGroupId=…`, the members of a group under its own path.
    method: "get",
    at: "device-groups/{deviceGroupId}/devices",
    doc: "Lists the devices that a group chooses now.",
    response: { kind: "list", resource: devices },
    async handle(request) {
      const { id } = requireVisibleRow(request, deviceGroups, request.params.deviceGroupId ?? "");
      return request.respondWithList(devices, { pks: await request.needs.memberships.members([id]), pksOf: id });
    },
  },
];

function isoOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** own choice: an extension with one appliance means that one; null where there are several. */
function onlyEndpoint(store: Store, extensionId: string): string | null {
  const [one, other] = store.find(endpoints, { extensionId }, 2);
  return one && !other ? one.id : null;
}

async function listDevices(
  request: ApiRequest,
  within: Readonly<Record<string, string>>,
  filters: NonNullable<PageQuery["filters"]> = [],
) {
  const { store, clock, memberships, activations } = request.needs;
  const asked: Record<string, unknown> = {};
  for (const name of Object.keys(DEVICE_FILTERS)) asked[name] = request.query[name];
  asked.includeDefunct = asked.includeDefunct === true || request.query.defunct === "true";
  const referenceGuard = (resource: AnyResource) => (id: string) => store.get(resource, id, request.by.scope) !== null;
  const needs = { reader: store, clock, memberships, activations };
  const more = await activationPredicates({ ...needs, sees: referenceGuard(activationGroups) }, asked);
  const pks = await findDevices({ ...needs, sees: referenceGuard(deviceGroups) }, asked, more);
  const restriction = filters.length === 0 ? { within } : { within, filters };
  return request.respondWithList(devices, {
    ...restriction,
    ...(pks === null ? {} : { pks, pksOf: JSON.stringify(asked) }),
  });
}
