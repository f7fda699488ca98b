import { boolean, computed, integer, internal, json, list, option, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "../notifications/notification-activity-types.ts";
import { sentenceField } from "../sentence-field.ts";
import { FEATURES } from "./features.ts";

const STATUS = {
  state: option("Process state.", ["starting", "running", "restarting", "disabled", "stopped", "absent"], {
    required: true,
  }),
  health: option("Health; unconfigured: never set up.", ["ok", "unconfigured", "degraded", "down"], { required: true }),
  reason: text("Reason for the state.", { max: 10_000 }),
  reasonSentence: sentenceField("Reason"),
  failures: integer("Failures within 10 minutes.", { required: true }),
  nextTryAt: timestamp("When the next restart is due."),
};

const INSTALLATION = {
  version: text("Version.", { required: true, max: 140 }),
  signedBy: text("Publisher whose signature was verified; null if unsigned.", { max: 140 }),
  hosts: list("Host names, addresses and networks that it connects to.", text("A host.", { max: 300 })),
  settings: list("Settings whose URLs and hosts it connects to.", text("Name of a setting.", { max: 140 })),
  deviceAttributes: list("Attributes of devices whose URLs and hosts it connects to.", text("Name.", { max: 140 })),
};

/**
 * Extensions: plugins, and the appliances behind `onprem`.
 * @source docs/decisions/0012-extensions-and-endpoints.md; docs/decisions/0042-api-contract.md, `/v1/extensions`
 */
export default defineResource({
  name: "extensions",
  doc: "An extension of the service: a user device type, a collaboration channel, or the on-premises appliances.",
  paths: [{ at: "extensions" }],
  idParam: "extensionId",
  scope: "organisation",
  replicate: "B",
  fields: {
    name: text("Name of the extension.", { required: true, min: 1 }),
    type: option("Type of the extension.", ["device", "device-filter", "endpoint-proxy", "collaboration", "report"]),
    deviceType: text(
      "User device type (type device) or collaboration group type (type collaboration) that the extension serves.",
      {
        max: 140,
      },
    ),
    config: json("Settings, validated by the extension.", { default: {} }),
    globalDisabled: boolean("Disabled globally, regardless of `disabled`.", { default: false }),
    disabled: boolean("Disabled.", { default: false }),
    deviceLimit: integer("Maximum number of devices of this type per user; null means the default of five.", {
      min: 1,
      max: 1_000,
    }),
    failureCode: option(
      "Activity recorded on a notification if the extension cannot be reached while sending.",
      NOTIFICATION_ACTIVITY_TYPES,
    ),
    status: computed(
      "Status of the extension's plugin: state (running, restarting, disabled, stopped, absent), health (ok, unconfigured, degraded, down), reason, failures within 10 minutes (restarts stop after the fifth) and nextTryAt; null without a plugin.",
      "object",
      { of: STATUS, nullable: true },
    ),
    triggers: computed("Resources whose changes are reported to the plugin.", "array", {
      of: { spec: text("Path of the resource, with * for the id.", { required: true }) },
    }),
    configExports: computed("Members of `config` that are returned; the others are secrets.", "array", {
      of: text("Name of a member.", { required: true }),
    }),
    installation: computed(
      "Of a plugin that was installed and does not come with the product: version, who signed it (null: unsigned), and where it may connect to. Null for all others.",
      "object",
      { of: INSTALLATION, nullable: true },
    ),
    featureRequired: computed(
      "Feature name by which a session reports that the extension is enabled; null if it has none.",
      "text",
      { of: option("A feature.", FEATURES), nullable: true },
    ),
    requiresOptIn: computed(
      "Users must register a device of this type to be reached; true for type device.",
      "boolean",
    ),
    plugin: internal("Name of the plugin; null for the extension of the appliances.", "text", {
      unique: true,
    }),
  },
});
