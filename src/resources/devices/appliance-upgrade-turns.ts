import { integer, internal, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** What became of each appliance. own choice: all of it */
export default defineResource({
  name: "appliance-upgrade-turns",
  doc: "An appliance in an upgrade of many.",
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
      "`waiting` for its turn; `ordered`: it was told to upgrade; `done`; `failed`; `skipped`: left out; `cancelled`.",
      ["waiting", "ordered", "done", "failed", "skipped", "cancelled"],
      { readOnly: true, default: "waiting" },
    ),
    wave: integer("The wave that it was in; null before its turn.", { readOnly: true, min: 1 }),
    reason: text("Why it failed, or was left out.", { readOnly: true, max: 10_000 }),
    fromVersion: text("What it ran before.", { readOnly: true }),
    activityId: uuid("The order that it was given, one of its activities.", { readOnly: true }),
    orderedAt: timestamp("When it was told to upgrade.", { readOnly: true }),
    endedAt: timestamp("When it was clear what became of it.", { readOnly: true }),
    healthBefore: internal("Its health in one word when it was told to upgrade.", "text"),
  },
});
