import { boolean, computed, internal, json, list, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { FAILOVER_STATUS_FIELDS } from "./failover-status-fields.ts";

const COLOUR = option("One of them.", ["GREEN", "YELLOW", "RED"]);
const STATUS = { nullable: true, unless: "includeStatus" } as const;
const REASON = text("A reason.", { max: 10_000 });

/** On-premises appliances. @source service-api.md, /v1/extensions/{extensionId}/endpoints; decisions.md 12 */
export default defineResource({
  name: "endpoints",
  doc: "An appliance at a site, with the devices it serves.",
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
    name: text("What people call the appliance."),
    siteId: ref("own choice: the site that it stands at; its coordinates show it on the map.", "sites"),
    devices: json("Free data about its devices, kept as it is given.", { maxBytes: 1_048_576 }),
    config: json(
      "Settings: backupSchedule (a cron expression in local time; that of the settings file unless given), description, timeZone, and phoneFilter, speakerFilter and idnFilter that choose the licensed devices. own choice: each is {filterType, filters, logicalExpression} as in a device group, with at most 200 filters; a list within filters must match whole, and a filter that holds nothing licenses every device of its type.",
      { maxBytes: 262_144, default: {} },
    ),
    isCucmMigrated: boolean("The call-manager clusters of the appliance come from the cloud.", {
      readOnly: true,
      default: false,
    }),
    hasMigratedSpeakers: computed(
      "Its speakers come from the cloud. own choice: false always, as an appliance alone says which devices it serves.",
      "boolean",
    ),
    skipEndpointHealthAssessment: computed(
      "Its health counts for no alarm. own choice: false always, as none is left out.",
      "boolean",
    ),
    buildInfo: computed("Version and addresses of the appliance's software.", "object", {
      of: {
        app: text("Name of the software.", { required: true }),
        version: text("Its version.", { required: true }),
        apiVersion: text("Version of this interface.", { required: true }),
        fqdn: text("Name of the machine.", { required: true }),
        ipAddresses: list("Its outside addresses.", text("One.", { required: true }), { required: true }),
        additionalFeatures: list("own choice: plugins that are switched on.", text("Its name.", { required: true }), {
          required: true,
        }),
        disabledFeatures: list("own choice: plugins that are switched off.", text("Its name.", { required: true }), {
          required: true,
        }),
      },
      nullable: true,
      unless: "includeBuildInfo",
    }),
    status: computed("Health in one word.", "text", { of: COLOUR, ...STATUS }),
    redReasons: computed("What makes the status RED, in words.", "array", { of: REASON, ...STATUS }),
    yellowReasons: computed("What makes the status YELLOW, in words.", "array", { of: REASON, ...STATUS }),
    clock: computed("own choice: what its clock is worth.", "object", {
      of: {
        timeZone: text("Zone that its people live in.", { required: true }),
        synchronised: boolean("Whether it follows a reference; null when that is not known."),
      },
      ...STATUS,
    }),
    failoverDetails: computed("How it stands to the appliance that would take its place.", "object", {
      of: FAILOVER_STATUS_FIELDS,
      nullable: true,
      when: "includeFailoverDetails",
    }),
    licensedBy: internal("The licence filters that its devices were last held against.", "text"),
    statusLastUpdated: computed("When the health was last looked at.", "timestamp", STATUS),
  },
});
