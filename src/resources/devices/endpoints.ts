import { boolean, computed, integer, internal, json, list, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentencesField } from "../sentence-field.ts";
import { FAILOVER_STATUS_FIELDS } from "./failover-status-fields.ts";

const HEALTH_STATUS = option("Health status.", ["GREEN", "YELLOW", "RED"]);
const STATUS = { nullable: true, unless: "includeStatus" } as const;
const REASON = text("A reason.", { max: 10_000 });

/**
 * On-premises appliances.
 * @source docs/decisions/0012-extensions-and-endpoints.md; docs/decisions/0042-api-contract.md,
 * `/v1/extensions/{extensionId}/endpoints`
 */
export default defineResource({
  name: "endpoints",
  doc: "An appliance and the devices it serves.",
  paths: [{ at: "extensions/{extensionId}/endpoints" }],
  idParam: "endpointId",
  scope: "organisation",
  replicate: "B",
  fields: {
    extensionId: ref("Extension the appliance belongs to.", "extensions", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    name: text("Name of the appliance."),
    siteId: ref("Site where the appliance is located; its coordinates place it on the map.", "sites"),
    devices: json("Free-form data about its devices, stored as sent.", { maxBytes: 1_048_576 }),
    config: json(
      "Settings: backupSchedule (a cron expression in local time; default: that of the settings file), description, timeZone, and phoneFilter, speakerFilter and idnFilter, which select the licensed devices. Each filter is {filterType, filters, logicalExpression} as in a device group, with at most 200 filters. A list within filters must match completely; an empty filter licenses every device of its type.",
      { maxBytes: 262_144, default: {} },
    ),
    isCucmMigrated: computed(
      "The call-manager clusters of the appliance come from the cloud: it has some, and all of them replicate.",
      "boolean",
    ),
    hasMigratedSpeakers: computed("The speakers of the appliance come from the cloud. Always false.", "boolean"),
    skipEndpointHealthAssessment: computed(
      "The health of the appliance is excluded from alarms. Always false.",
      "boolean",
    ),
    buildInfo: computed("Version and addresses of the appliance's software.", "object", {
      of: {
        app: text("Name of the software.", { required: true }),
        version: text("Version of the software.", { required: true }),
        apiVersion: text("Version of the API.", { required: true }),
        fqdn: text("Host name.", { required: true }),
        ipAddresses: list("External IP addresses.", text("An IP address.", { required: true }), { required: true }),
        additionalFeatures: list("Enabled plugins.", text("Name of the plugin.", { required: true }), {
          required: true,
        }),
        disabledFeatures: list("Disabled plugins.", text("Name of the plugin.", { required: true }), {
          required: true,
        }),
      },
      nullable: true,
      unless: "includeBuildInfo",
    }),
    status: computed("Health status.", "text", { of: HEALTH_STATUS, ...STATUS }),
    redReasons: computed("Reasons for status RED.", "array", { of: REASON, ...STATUS }),
    yellowReasons: computed("Reasons for status YELLOW.", "array", { of: REASON, ...STATUS }),
    reasonSentences: sentencesField("All reasons, red ones first,", STATUS),
    clock: computed("State of the clock.", "object", {
      of: {
        timeZone: text("Local time zone.", { required: true }),
        synchronised: boolean("Whether it is synchronised with a time source; null if unknown."),
        timeZoneVersion: text("Version of the time zone database in use, such as 2026a; null if unknown."),
        timeZoneSource: option("Source of the time zone database in use.", ["installed", "machine", "node"]),
        offsets: computed(
          "Offsets of the local time zone from UTC, for three months back and 400 days ahead.",
          "array",
          {
            of: {
              from: timestamp("Instant from which the offset applies.", { required: true }),
              minutes: integer("Minutes ahead of UTC.", { required: true, min: -1_560, max: 1_560 }),
            },
          },
        ),
      },
      ...STATUS,
    }),
    failoverDetails: computed("Failover status.", "object", {
      of: FAILOVER_STATUS_FIELDS,
      nullable: true,
      when: "includeFailoverDetails",
    }),
    licensedBy: internal("Licence filters that were last applied to its devices.", "text"),
    statusLastUpdated: computed("When the health was last assessed.", "timestamp", STATUS),
  },
});
