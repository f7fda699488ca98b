import { PHONE_PROBLEMS } from "../../call-manager/phone-configuration/phone-configurations.ts";
import { activationPredicates } from "../../devices/activation-query.ts";
import { findDevices } from "../../devices/device-query.ts";
import { pagingZoneSdp } from "../../devices/paging-zone-sdp.ts";
import { ConflictError, notFound } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import activationGroups from "../../resources/devices/activation-groups.ts";
import deviceGroups from "../../resources/devices/device-groups.ts";
import devices from "../../resources/devices/devices.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import extensions from "../../resources/devices/extensions.ts";
import { sentenceField } from "../../resources/sentence-field.ts";
import { boolean, computed, json, option, text, timestamp, uuid } from "../../schema/field.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { PageQuery, Store } from "../../store/store.ts";
import { type Action, type ApiRequest, jsonResponse as answerJson, requireVisibleRow } from "../action.ts";
import { addSentences } from "../sentence-members.ts";

const ACTIVE_ONLY = { field: "defunct", op: "eq", value: false } as const;

const DEVICE_FILTERS = {
  name: text("Text contained in the description.", { max: 255 }),
  deviceGroupId: uuid("Group whose members are listed."),
  deviceGroup: json("A group that is not stored, with the fields of device groups."),
  types: json("One or more device types."),
  icopIds: json("One or more icopIds."),
  attributes: json("Attributes with the required values."),
  includeDefunct: boolean("Includes defunct devices.", { default: false }),
  includeNonConfiguredSpeakers: boolean("False omits speakers that are not configured yet (IsConfigured).", {
    default: true,
  }),
  includeUnregisteredSpeakers: boolean("False omits speakers known to be unregistered.", {
    default: true,
  }),
  activationGroupId: uuid("Activation group whose devices are listed."),
  activationGroup: json(
    "An activation group that is not stored, with the fields of activation groups. With a priority, only devices not taken by groups of higher precedence; with an id, replaces the stored group.",
  ),
  disregardPriority: boolean("Devices that match an activation group, regardless of other groups they belong to.", {
    default: false,
  }),
  endpointIdToBeReachableBy: uuid(
    "Devices that this appliance may activate: through their activation group, or because it serves them if they are in none.",
  ),
  onlyUnallocated: boolean("Only devices in no activation group.", { default: false }),
};

const QUIET_TEST = {
  testedAt: timestamp("Time of the test.", { required: true }),
  provenAt: timestamp("When the path was verified; null if it was not."),
  provenBy: devices.fields.provenBy,
  fault: text("Reason why it was not verified.", { max: 1_000 }),
  faultSentence: sentenceField("Reason", "fault"),
};

const PHONE_CONFIGURATION = {
  readAt: timestamp("When the configuration was read.", { required: true }),
  server: text("TFTP server that was asked, with its port; null if the phone's cluster has none.", { max: 300 }),
  file: text("File that was read; null if none was.", { max: 100 }),
  configuration: computed("What the file says about pushes; null if it could not be read.", "object", {
    nullable: true,
    of: {
      isSigned: boolean("The file is signed by the call manager. The signature is not verified.", { required: true }),
      authenticationUrl: text("URL that the phone asks whether a push is allowed.", { max: 1_000 }),
      secureAuthenticationUrl: text("URL that a phone with a trust list asks instead.", { max: 1_000 }),
      webAccess: option("Access to the phone's web server; null if the file does not say it.", [
        "full",
        "read-only",
        "off",
      ]),
      isHttpsOnly: boolean("The phone's web server accepts HTTPS only.", { required: true }),
      load: text("Firmware that the phone shall run.", { max: 1_000 }),
      securityMode: option("Security profile of the phone.", ["non-secure", "authenticated", "encrypted"]),
      capfAddress: text("Server that issues the phone's certificate (CAPF).", { max: 1_000 }),
    },
  }),
  problems: computed("Why the phone may refuse pushes, or why that is not known.", "array", {
    of: {
      code: option("Type of the problem.", PHONE_PROBLEMS, { required: true }),
      severity: option(
        "refuses: the phone refuses pushes; may-refuse: unless the other server allows them; unknown: not judged.",
        ["refuses", "may-refuse", "unknown"],
        { required: true },
      ),
      words: text("The problem and its solution.", { required: true, max: 10_000 }),
      wordsSentence: sentenceField("Problem", "words"),
    },
  }),
};

/**
 * Device lists with computed filters over groups and attributes, and device tests.
 * @source docs/decisions/0042-api-contract.md, `/v1/devices`, `/v1/extensions/{extensionId}/devices`
 */
export const deviceActions: readonly Action[] = [
  {
    method: "get",
    at: "devices",
    doc: "Lists devices of the organisation; defunct devices only on request.",
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
      if (!request.deps.store.get(extensions, extensionId)) throw notFound();
      return listDevices(request, { extensionId });
    },
  },
  {
    method: "post",
    at: "extensions/{extensionId}/devices",
    doc: "Creates a device. endpointId is optional if the extension has only one appliance.",
    response: { kind: "row", resource: devices },
    accepts: { ...devices.fields, endpointId: { ...devices.fields.endpointId, required: false } },
    supportsDryRun: true,
    async handle(request) {
      const { deps, params, body, by } = request;
      const { extensionId = "" } = params;
      if (!deps.store.get(extensions, extensionId)) throw notFound();
      const given = { ...body, extensionId, endpointId: body.endpointId ?? onlyEndpoint(deps.store, extensionId) };
      return request.respondWithRow(devices, await deps.store.create(devices, given, by));
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
      if (request.deps.store.get(endpoints, endpointId)?.extensionId !== extensionId) throw notFound();
      return listDevices(request, { extensionId, endpointId });
    },
  },
  {
    method: "post",
    at: "devices/{deviceId}/quiet-test",
    doc: "Tests the path to a device silently and returns the result.",
    response: { kind: "members", fields: QUIET_TEST },
    async handle(request) {
      const device = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      const { testedAt, provenAt, provenBy, fault } = await request.deps.silentTests.testDevice(device);
      const result = { testedAt: isoOf(testedAt), provenAt: isoOf(provenAt), provenBy, fault };
      return answerJson(addSentences(QUIET_TEST, result, request.deps.plugins.sentences));
    },
  },
  {
    method: "post",
    at: "devices/{deviceId}/phone-configuration",
    doc: "Reads the configuration of a phone from the TFTP server of its call manager cluster, and says whether the phone will take pushes; changes nothing.",
    response: { kind: "members", fields: PHONE_CONFIGURATION },
    async handle(request) {
      const device = requireVisibleRow(request, devices, request.params.deviceId ?? "");
      if (device.type !== "phones") throw new ConflictError(sentence("error.only-phones-have-a-configuration-file"));
      const found = await request.deps.phoneConfigurations.check(device);
      const check = { ...found, readAt: isoOf(found.readAt) };
      return answerJson(addSentences(PHONE_CONFIGURATION, check, request.deps.plugins.sentences));
    },
  },
  {
    method: "get",
    at: "devices/{deviceId}/zone.sdp",
    doc: "Returns the session description (SDP) of a multicast zone, for players and encoders.",
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
    // Alternative to `/devices?deviceGroupId=…`.
    method: "get",
    at: "device-groups/{deviceGroupId}/devices",
    doc: "Lists the current members of a group.",
    response: { kind: "list", resource: devices },
    async handle(request) {
      const { id } = requireVisibleRow(request, deviceGroups, request.params.deviceGroupId ?? "");
      return request.respondWithList(devices, { pks: await request.deps.memberships.members([id]), pksOf: id });
    },
  },
];

function isoOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** The appliance of an extension with exactly one; null if there are several. */
function onlyEndpoint(store: Store, extensionId: string): string | null {
  const [one, other] = store.find(endpoints, { extensionId }, 2);
  return one && !other ? one.id : null;
}

async function listDevices(
  request: ApiRequest,
  within: Readonly<Record<string, string>>,
  filters: NonNullable<PageQuery["filters"]> = [],
) {
  const { store, clock, memberships, activations } = request.deps;
  const requested: Record<string, unknown> = {};
  for (const name of Object.keys(DEVICE_FILTERS)) requested[name] = request.query[name];
  requested.includeDefunct = requested.includeDefunct === true || request.query.defunct === "true";
  const referenceGuard = (resource: AnyResource) => (id: string) => store.get(resource, id, request.by.scope) !== null;
  const deps = { reader: store, clock, memberships, activations };
  const more = await activationPredicates({ ...deps, sees: referenceGuard(activationGroups) }, requested);
  const pks = await findDevices({ ...deps, sees: referenceGuard(deviceGroups) }, requested, more);
  const restriction = filters.length === 0 ? { within } : { within, filters };
  return request.respondWithList(devices, {
    ...restriction,
    ...(pks === null ? {} : { pks, pksOf: JSON.stringify(requested) }),
  });
}
