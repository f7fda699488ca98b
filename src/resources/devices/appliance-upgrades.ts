import { computed, integer, internal, option, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const count = (what: string) => integer(what, { required: true });

/** How many appliances get a version at a time, and what ends it. own choice: all of it */
export default defineResource({
  name: "appliance-upgrades",
  doc: "A version that the appliances of an organisation get in waves: first a few, and more only while all is well.",
  paths: [{ at: "appliance-upgrades", methods: ["get"] }],
  idParam: "applianceUpgradeId",
  scope: "organisation",
  replicate: "local",
  sort: "-createdAt",
  fields: {
    version: text("The version, which lay ready when it began.", { readOnly: true }),
    sha256: internal("The file of that version, hex.", "text"),
    firstWave: integer("Appliances that go first, alone.", { min: 1, max: 1_000, default: 1 }),
    waveSize: integer("Appliances of the second wave.", { min: 1, max: 1_000, default: 5 }),
    growth: integer("How many times as large as the one before each further wave is; 1 for waves of one size.", {
      min: 1,
      max: 10,
      default: 2,
    }),
    timeLimit: integer(
      "How long an appliance may take until it runs the version, is connected and is not RED. One that was RED before may be RED after.",
      { min: 1, max: 1_440, default: 60, unit: "min" },
    ),
    steadyTime: integer("How long it must be connected with the new version before it counts.", {
      max: 86_400,
      default: 60,
      unit: "s",
    }),
    state: option(
      "`preparing` begins; `running`; `paused` by somebody: what was ordered goes on; `stopped` because an appliance failed; `cancelled`; `complete`.",
      ["preparing", "running", "paused", "stopped", "cancelled", "complete"],
      { readOnly: true, default: "preparing" },
    ),
    reason: text("Which appliance stopped it, and why.", { readOnly: true, max: 10_500 }),
    wave: integer("The wave that was begun last; 0 before the first.", { readOnly: true, default: 0 }),
    waitingSince: timestamp(
      "Since when none of those that are still to come is connected; after the time limit they are left out.",
      { readOnly: true },
    ),
    endedAt: timestamp("When it was complete or cancelled.", { readOnly: true }),
    counts: computed("How many appliances are how far.", "object", {
      of: {
        waiting: count("Still to come."),
        ordered: count("Told to upgrade."),
        done: count("Run the version and are well."),
        failed: count("Did not get there."),
        skipped: count("Left out: they run it already, or were not there."),
        cancelled: count("Were still to come when it was cancelled."),
      },
    }),
  },
});
