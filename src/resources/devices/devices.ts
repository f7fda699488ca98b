import { boolean, computed, integer, internal, json, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { DELIVERY_LEVELS } from "../notifications/delivery-levels.ts";
import { sentenceField } from "../sentence-field.ts";
import { DEVICE_STATES } from "./device-states.ts";
import { DEVICE_TYPES } from "./device-types.ts";

/**
 * Phones, speakers, zones and inputs. `/v1/devices` supports additional computed filters (deviceGroupId, deviceGroup,
 * types, icopIds).
 * @source docs/decisions/0011-device-groups.md; docs/decisions/0012-extensions-and-endpoints.md;
 * docs/decisions/0042-api-contract.md, `/v1/devices`, `/v1/extensions/{extensionId}/devices`
 */
export default defineResource({
  name: "devices",
  doc: "A phone, speaker, zone or input that an appliance serves.",
  paths: [
    { at: "devices", methods: ["get"] },
    { at: "extensions/{extensionId}/endpoints/{endpointId}/devices" },
    { at: "extensions/{extensionId}/devices" },
  ],
  idParam: "deviceId",
  scope: "organisation",
  replicate: "C",
  indexes: [["icopId"], ["type"], ["provider"], ["callManagerCluster"], ["state"], ["description", "id"]],
  fields: {
    extensionId: ref("Extension of the appliance.", "extensions", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    endpointId: ref("Appliance that serves the device.", "endpoints", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    endpoint: computed("Id and name of the appliance.", "object", {
      of: { id: uuid("Id.", { required: true }), name: text("Name.") },
      nullable: true,
      when: "includeEndpointDetails",
    }),
    deviceIdentifier: text(
      "Name of the device, unique in the organisation, such as SEP001122334455. Changing it recalculates icopId and provider.",
      {
        required: true,
        min: 1,
        unique: true,
      },
    ),
    icopId: text(
      "Id by which groups reference the device: the MAC address of speakers and desktop notifiers, otherwise the identifier.",
      {
        readOnly: true,
      },
    ),
    description: text("Description of the device, at most 255 characters.", { required: true }),
    type: option("Device type.", DEVICE_TYPES, { required: true }),
    attributes: json("Properties by name. All values are strings, because group filters compare them.", {
      fromText: true,
      default: {},
    }),
    zoneId: ref(
      "Zone where the device is installed. Default: the zone whose name equals the attribute Location, if exactly one does.",
      "zones",
      { embed: "zone" },
    ),
    defunct: boolean("No longer in use: kept for history, never contacted.", { default: false }),
    isLicensed: boolean("The appliance's licence filters include it.", { readOnly: true, default: true }),
    provider: internal("Name of the plugin that delivers to it.", "text"),
    callManagerCluster: internal("Id of the call manager cluster where it was discovered.", "text"),
    state: option(
      "State according to the last delivery; null if nothing has been sent to the device. Derived from the delivery ledger, so a change leaves `updatedAt` unchanged.",
      DEVICE_STATES,
      { readOnly: true },
    ),
    lastLevel: option("Level of the last delivery.", DELIVERY_LEVELS, { readOnly: true }),
    lastSeenAt: timestamp("When the device last responded to a delivery.", { readOnly: true }),
    isRegistered: computed(
      "Registration state reported by the call manager or the device, from the attributes IsRegistered or IsRegisteredSip; null if not reported.",
      "boolean",
      { nullable: true },
    ),
    provenAt: timestamp("When the path to the device was last verified by a delivery or a silent test.", {
      readOnly: true,
    }),
    provenBy: option(
      "Evidence: a response to a delivery, a response to a silent test, or a loopback on the address where the device listens.",
      ["delivery", "quiet-test", "loopback"],
      { readOnly: true },
    ),
    testedAt: timestamp("When the device was last tested silently.", { readOnly: true }),
    testFault: text("Reason why the last silent test failed; null if it succeeded.", {
      readOnly: true,
      max: 1_000,
    }),
    testFaultSentence: sentenceField("Reason", "testFault"),
    failures: integer("Consecutive deliveries without a response; unresponsive devices are contacted last.", {
      readOnly: true,
    }),
  },
});
