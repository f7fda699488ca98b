import { integer, internal, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";

/** Progress of each appliance in a staged upgrade. */
export default defineResource({
  name: "appliance-upgrade-turns",
  doc: "One appliance of a staged upgrade.",
  paths: [{ at: "appliance-upgrades/{applianceUpgradeId}/turns", methods: ["get"] }],
  idParam: "applianceUpgradeTurnId",
  scope: "parent",
  replicate: "local",
  indexes: [["applianceUpgradeId", "state"]],
  fields: {
    applianceUpgradeId: ref("The upgrade.", "appliance-upgrades", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    endpointId: ref("The appliance.", "endpoints", {
      required: true,
      createOnly: true,
      embed: "endpoint",
      onDelete: "cascade",
    }),
    state: option(
      "`waiting` for its turn; `ordered`: the upgrade command was sent; `done`; `failed`; `skipped`; `cancelled`.",
      ["waiting", "ordered", "done", "failed", "skipped", "cancelled"],
      { readOnly: true, default: "waiting" },
    ),
    wave: integer("Wave of the appliance; null before its turn.", { readOnly: true, min: 1 }),
    reason: text("Reason why it failed or was skipped.", { readOnly: true, max: 10_000 }),
    reasonSentence: sentenceField("Reason", "reason"),
    fromVersion: text("Version before the upgrade.", { readOnly: true }),
    activityId: uuid("Activity of the upgrade command.", { readOnly: true }),
    orderedAt: timestamp("When the upgrade command was sent.", { readOnly: true }),
    endedAt: timestamp("When the result was known.", { readOnly: true }),
    healthBefore: internal("Health when the upgrade command was sent.", "text"),
  },
});
