import { boolean, computed, integer, list, object, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import devices from "../devices/devices.ts";

/**
 * Device types known without an extension that serves them; `APNS` and `GCM` are older spellings of `apns` and `Android`.
 * @source service-api.md, User device; decisions.md 5
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
 * Registered means of reaching a user. How many a user may have depends on the extensions that serve them, so it is no
 * limit of the declaration. @source service-api.md, User device; digest `/v1/users/{userId}/devices`
 */
export default defineResource({
  name: "user-devices",
  doc: "One way to reach a user: an app, a telephone number or a mail address.",
  paths: [{ at: "users/{userId}/devices" }],
  idParam: "deviceId",
  scope: "parent",
  replicate: "A",
  indexes: [["type", "deviceIdentifier"], ["deviceIdentifier"]],
  fields: {
    userId: ref("Owner of the device.", "users", { required: true, createOnly: true, onDelete: "cascade" }),
    type: text("Channel that reaches the device: a documented type, or one that an extension serves.", {
      required: true,
      min: 1,
      max: 140,
    }),
    name: text("What the owner calls the device."),
    deviceIdentifier: text("Address within the channel: push token, telephone number or mail address.", { max: 4_096 }),
    disabled: boolean("Nothing is sent to a disabled device.", { default: false }),
    disabledReason: text("Why the channel switched it off: there is no such device any more.", { readOnly: true }),
    verified: boolean("The owner has proven to hold the device. own choice: false until then.", { default: false }),
    client: text("Name of the app on the device.", { max: 140 }),
    clientIdentifier: text("The app's own id of its installation.", { max: 4_096 }),
    build: text("Version of the app."),
    os: text("Operating system and its version."),
    presence: object("Where the device last was, as areas. Apps may write it, or report positions to `locations`.", {
      areaOfInterestIds: list("Areas the device is inside of.", uuid("Id of an area of interest.")),
      accuracyInM: integer("Radius of uncertainty of the last position.", { unit: "m" }),
      areasOfInterestChecksum: text("The app's digest of the areas it compared itself with."),
      updatedAt: timestamp("When the position was reported."),
    }),
    areasOfInterest: computed(
      "own choice: the areas of `presence.areaOfInterestIds` that the asker sees; returned with includeAois.",
      "array",
      {
        of: { id: uuid("Its id.", { required: true }), name: text("Its name.", { required: true }) },
        when: "includeAois",
      },
    ),
    endpointId: computed(
      "own choice: appliance that serves the device of the same identifier, such as a notifier on somebody's desk; null where none does or the asker may not read devices.",
      "text",
      { of: uuid("Its id."), nullable: true },
    ),
    icopId: computed("Id by which device groups name that device.", "text", { nullable: true }),
    endpointDevice: computed("own choice: that device; returned with includeEndpointDevices.", "object", {
      of: {
        id: uuid("Its id.", { required: true }),
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
