import { boolean, computed, integer, internal, json, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { DELIVERY_LEVELS } from "../notifications/delivery-levels.ts";
import { DEVICE_STATES } from "./device-states.ts";
import { DEVICE_TYPES } from "./device-types.ts";

/**
 * Phones, speakers, zones and inputs of the appliances. `/v1/devices` takes further filters (deviceGroupId, deviceGroup,
 * types, icopIds) that are computed, not stored.
 * @source service-api.md, /v1/devices and /v1/extensions/{extensionId}/devices; decisions.md 11; interfaces.md, Extensions, endpoints, devices
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
    endpoint: computed("The appliance, by id and name.", "object", {
      of: { id: uuid("Its id.", { required: true }), name: text("Its name.") },
      nullable: true,
      when: "includeEndpointDetails",
    }),
    deviceIdentifier: text(
      "Name of the device, unique in the organisation, such as SEP001122334455. A change finds icopId and provider anew.",
      {
        required: true,
        min: 1,
        unique: true,
      },
    ),
    icopId: text(
      "Id by which groups name it: the MAC address of speakers and desktop notifiers, else the identifier.",
      {
        readOnly: true,
      },
    ),
    description: text("What people call the device. own choice: at most 255 characters.", { required: true }),
    type: option("Kind of device.", DEVICE_TYPES, { required: true }),
    attributes: json("Properties by name; group filters test their values, so all of them are texts.", { default: {} }),
    zoneId: ref(
      "own choice: room that the device stands in; without one, the only room whose name its attribute Location is.",
      "zones",
      { embed: "zone" },
    ),
    defunct: boolean("No longer in use: kept for its history, never addressed.", { default: false }),
    isLicensed: boolean("The appliance's licence filters include it.", { readOnly: true, default: true }),
    provider: internal("Name of the plugin that carries deliveries to it.", "text"),
    callManagerCluster: internal("Cluster of call managers that it was found in, by id.", "text"),
    state: option(
      "own choice: what its last delivery says of it; null while nothing was sent to it. Facts of the ledger, so a change leaves `updatedAt` as it is.",
      DEVICE_STATES,
      { readOnly: true },
    ),
    lastLevel: option("own choice: how far its last delivery was proven.", DELIVERY_LEVELS, { readOnly: true }),
    lastSeenAt: timestamp("own choice: when a delivery last brought an answer of it.", { readOnly: true }),
    isRegistered: computed(
      "own choice: what its call manager or itself says, by its attributes IsRegistered or IsRegisteredSip; null where nobody says it.",
      "boolean",
      { nullable: true },
    ),
    provenAt: timestamp("own choice: when the way to it was last proven, by a delivery or a quiet test.", {
      readOnly: true,
    }),
    provenBy: option(
      "own choice: an answer to a delivery, an answer to a quiet test, or only that the appliance heard itself where the device listens.",
      ["delivery", "quiet-test", "loopback"],
      { readOnly: true },
    ),
    testedAt: timestamp("own choice: when it was last tested without anybody hearing it.", { readOnly: true }),
    testFault: text("own choice: why the last quiet test failed; null when it did not.", {
      readOnly: true,
      max: 1_000,
    }),
    failures: integer("own choice: deliveries in a row that it did not answer; known-dead devices are asked last.", {
      readOnly: true,
    }),
  },
});
