import { boolean, computed, integer, internal, list, object, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import devices from "../devices/devices.ts";
import { sentenceField } from "../sentence-field.ts";

/**
 * Device types supported without an extension; `APNS` and `GCM` are older spellings of `apns` and `Android`.
 * @source docs/decisions/0005-users-and-devices.md; docs/decisions/0042-api-contract.md
 */
export const USER_DEVICE_TYPES = [
  "Android",
  "apns",
  "apns-sandbox",
  "APNS",
  "GCM",
  "SMS",
  "phone-call",
  "email",
  "web-push",
  "desktop",
] as const;

/**
 * Registered devices of a user. The maximum per user depends on the extensions, so it is not part of the declaration.
 * @source docs/decisions/0042-api-contract.md, `/v1/users/{userId}/devices`
 */
export default defineResource({
  name: "user-devices",
  doc: "One way to reach a user: an app, a phone number or an email address.",
  paths: [{ at: "users/{userId}/devices" }],
  idParam: "deviceId",
  scope: "parent",
  replicate: "A",
  indexes: [["type", "deviceIdentifier"], ["deviceIdentifier"]],
  fields: {
    userId: ref("Owner of the device.", "users", { required: true, createOnly: true, onDelete: "cascade" }),
    type: text("Channel of the device: a built-in type or one served by an extension.", {
      required: true,
      min: 1,
      max: 140,
    }),
    name: text("Name of the device."),
    deviceIdentifier: text("Address within the channel: push token, phone number or email address.", { max: 4_096 }),
    disabled: boolean("Disabled devices receive nothing.", { default: false }),
    disabledReason: text("Reason why the channel disabled the device, such as an unknown push token.", {
      readOnly: true,
    }),
    disabledReasonSentence: sentenceField("Reason", "disabledReason"),
    verified: boolean("The owner has verified the device. Default: false.", { default: false }),
    awaitsVerification: boolean(
      "The owner added the address and must enter the code that is sent to it; until then nothing else is sent there.",
      { readOnly: true, default: false },
    ),
    client: text("Name of the app on the device.", { max: 140 }),
    clientIdentifier: text("Installation id of the app.", { max: 4_096 }),
    build: text("Version of the app."),
    os: text("Operating system and its version."),
    presence: object("Last known areas of the device. Apps may write them or report positions to `locations`.", {
      areaOfInterestIds: list("Areas the device is inside of.", uuid("Id of an area of interest.")),
      accuracyInM: integer("Radius of uncertainty of the last position.", { unit: "m" }),
      areasOfInterestChecksum: text("Checksum of the areas that the app evaluated."),
      updatedAt: timestamp("When the position was reported."),
    }),
    loadSource: internal("Id of the load definition that created the device.", "text"),
    areasOfInterest: computed(
      "The areas of `presence.areaOfInterestIds` that the asker sees; returned with includeAois.",
      "array",
      {
        of: { id: uuid("Id.", { required: true }), name: text("Name.", { required: true }) },
        when: "includeAois",
      },
    ),
    endpointId: computed(
      "Appliance that serves a device with the same identifier, such as a desktop notifier; null if none does or the caller may not read devices.",
      "text",
      { of: uuid("Id."), nullable: true },
    ),
    icopId: computed("Id by which device groups reference that device.", "text", { nullable: true }),
    endpointDevice: computed("That device; returned with includeEndpointDevices.", "object", {
      of: {
        id: uuid("Id.", { required: true }),
        description: devices.fields.description,
        type: devices.fields.type,
        isLicensed: devices.fields.isLicensed,
        defunct: devices.fields.defunct,
      },
      nullable: true,
      when: "includeEndpointDevices",
    }),
  },
});
