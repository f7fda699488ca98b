import { boolean, computed, integer, internal, json, option, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "../notifications/notification-activity-types.ts";
import { FEATURES } from "./features.ts";

const STATUS = {
  state: option("What it does.", ["starting", "running", "restarting", "disabled", "stopped", "absent"], {
    required: true,
  }),
  health: option("How it is.", ["ok", "degraded", "down"], { required: true }),
  reason: text("Why, in words.", { max: 10_000 }),
  failures: integer("Failures within 10 minutes.", { required: true }),
  nextTryAt: timestamp("When it is started again."),
};

/** Parts that extend the service: plugins, and the appliances behind `onprem`. @source service-api.md, /v1/extensions; interfaces.md, Extensions, endpoints, devices */
export default defineResource({
  name: "extensions",
  doc: "Something that extends the service: a kind of user device, a collaboration channel, or the on-premises appliances.",
  paths: [{ at: "extensions" }],
  idParam: "extensionId",
  scope: "organisation",
  replicate: "B",
  fields: {
    name: text("What people call the extension.", { required: true, min: 1 }),
    type: option("What the extension does.", ["device", "device-filter", "endpoint-proxy", "collaboration", "report"]),
    deviceType: text(
      "User device type (type device) or collaboration group type (type collaboration) that it serves.",
      {
        max: 140,
      },
    ),
    config: json("Settings, checked by the extension itself.", { default: {} }),
    globalDisabled: boolean("Switched off for everybody, whatever `disabled` says.", { default: false }),
    disabled: boolean("Switched off.", { default: false }),
    deviceLimit: integer("Devices of its type that one user may register; null takes the service's five.", {
      min: 1,
      max: 1_000,
    }),
    failureCode: option(
      "Activity written on a notification when the extension can't be reached while sending.",
      NOTIFICATION_ACTIVITY_TYPES,
    ),
    status: computed(
      "own choice: how the plugin behind the extension runs: state (running, restarting, disabled, stopped, absent), health (ok, degraded, down), reason, failures within 10 minutes (the fifth gives it up) and nextTryAt; null without a plugin.",
      "object",
      { of: STATUS, nullable: true },
    ),
    triggers: computed("own choice: resources of whose changes the plugin behind it is told.", "array", {
      of: { spec: text("Their path, with * for the id.", { required: true }) },
    }),
    configExports: computed("own choice: members of `config` that are shown; the others are secrets.", "array", {
      of: text("Name of one.", { required: true }),
    }),
    featureRequired: computed(
      "own choice: word by which sessions tell that it is switched on; null for an extension that none stands for.",
      "text",
      { of: option("One of them.", FEATURES), nullable: true },
    ),
    requiresOptIn: computed(
      "own choice: it reaches nobody who has not registered a device of its type, which is so for type device.",
      "boolean",
    ),
    plugin: internal("Name of the plugin behind the extension; null for the one of the appliances.", "text", {
      unique: true,
    }),
  },
});
