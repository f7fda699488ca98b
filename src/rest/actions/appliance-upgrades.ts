import applianceUpgrades from "../../resources/devices/appliance-upgrades.ts";
import { list, uuid } from "../../schema/field.ts";
import { type Action, visibleRow } from "../action.ts";
import { bodyCheck } from "./checked-body.ts";

const { firstWave, waveSize, growth, timeLimit, steadyTime } = applianceUpgrades.fields;
const CHOSEN = {
  endpointIds: list(
    "Appliances in the order of their turns; all that may connect unless given.",
    uuid("One of them."),
    {
      minItems: 1,
      maxItems: 10_000,
    },
  ),
};
const checkChosen = bodyCheck(CHOSEN);

const DOES = {
  pause: "No further wave of an upgrade begins; appliances that were told go on.",
  resume: "Goes on with an upgrade that is paused or stopped; appliances that failed are told once more.",
  cancel: "Ends an upgrade: appliances that were not told yet stay as they are.",
} as const;

/** Upgrades of many appliances, at the cloud. own choice: the paths */
export const applianceUpgradeActions: readonly Action[] = [
  {
    method: "post",
    at: "appliance-upgrades",
    doc: "At the cloud: begins to upgrade appliances, in waves, to the version that lies ready.",
    answers: { kind: "row", resource: applianceUpgrades },
    accepts: { ...CHOSEN, firstWave, waveSize, growth, timeLimit, steadyTime },
    async handle(request) {
      const upgrades = request.needs.link.upgrades();
      const { endpointIds } = checkChosen(request.body) as { endpointIds: string[] | null };
      return request.show(applianceUpgrades, await upgrades.begin(request.body, endpointIds, request.by));
    },
  },
  ...(["pause", "resume", "cancel"] as const).map(
    (what): Action => ({
      method: "post",
      at: `appliance-upgrades/{applianceUpgradeId}/${what}`,
      doc: DOES[what],
      answers: { kind: "row", resource: applianceUpgrades },
      async handle(request) {
        const { id } = visibleRow(request, applianceUpgrades, request.params.applianceUpgradeId ?? "");
        return request.show(applianceUpgrades, await request.needs.link.upgrades()[what](id, request.by));
      },
    }),
  ),
];
