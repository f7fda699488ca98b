import { computed, integer, internal, option, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";

const count = (what: string) => integer(what, { required: true });

/** Staged upgrades of appliances. */
export default defineResource({
  name: "appliance-upgrades",
  doc: "A staged upgrade of the organisation's appliances in waves; each wave starts only if the one before succeeded.",
  paths: [{ at: "appliance-upgrades", methods: ["get"] }],
  idParam: "applianceUpgradeId",
  scope: "organisation",
  replicate: "local",
  sort: "-createdAt",
  fields: {
    version: text("Version that was available when the upgrade started.", { readOnly: true }),
    sha256: internal("SHA-256 of the upgrade file, hex.", "text"),
    firstWave: integer("Number of appliances in the first wave.", { min: 1, max: 1_000, default: 1 }),
    waveSize: integer("Number of appliances in the second wave.", { min: 1, max: 1_000, default: 5 }),
    growth: integer("Growth factor per wave; 1 for waves of equal size.", {
      min: 1,
      max: 10,
      default: 2,
    }),
    timeLimit: integer(
      "Time limit for an appliance to run the version, be connected and not be RED. An appliance that was RED before may be RED afterwards.",
      { min: 1, max: 1_440, default: 60, unit: "min" },
    ),
    steadyTime: integer("Time an appliance must stay connected with the new version before it counts as done.", {
      max: 86_400,
      default: 60,
      unit: "s",
    }),
    state: option(
      "`preparing`; `running`; `paused` by a user (commands already sent continue); `stopped` because an appliance failed; `cancelled`; `complete`.",
      ["preparing", "running", "paused", "stopped", "cancelled", "complete"],
      { readOnly: true, default: "preparing" },
    ),
    reason: text("Appliance that stopped the upgrade, and the reason.", { readOnly: true, max: 10_500 }),
    reasonSentence: sentenceField("Reason", "reason"),
    wave: integer("Current wave; 0 before the first.", { readOnly: true, default: 0 }),
    waitingSince: timestamp(
      "Time since which none of the remaining appliances has been connected; after the time limit they are skipped.",
      { readOnly: true },
    ),
    endedAt: timestamp("When the upgrade completed or was cancelled.", { readOnly: true }),
    counts: computed("Number of appliances by state.", "object", {
      of: {
        waiting: count("Waiting for their turn."),
        ordered: count("Command sent."),
        done: count("Running the version and healthy."),
        failed: count("Failed."),
        skipped: count("Skipped: already up to date, or not connected."),
        cancelled: count("Still waiting when the upgrade was cancelled."),
      },
    }),
  },
});
