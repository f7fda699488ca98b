import applianceUpgrades from "../../resources/devices/appliance-upgrades.ts";
import { list, uuid } from "../../schema/field.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const { firstWave, waveSize, growth, timeLimit, steadyTime } = applianceUpgrades.fields;
const ROLLOUT_FIELDS = {
  endpointIds: list(
    "Appliances in the order of their turns; all that may connect unless given.",
    uuid("One of them."),
    {
      minItems: 1,
      maxItems: 10_000,
    },
  ),
};
const validateRollout = compileBodyValidator(ROLLOUT_FIELDS);

const COMMAND_DOCS = {
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
    response: { kind: "row", resource: applianceUpgrades },
    accepts: { ...ROLLOUT_FIELDS, firstWave, waveSize, growth, timeLimit, steadyTime },
    async handle(request) {
      const upgrades = request.needs.link.upgrades();
      const { endpointIds } = validateRollout(request.body) as { endpointIds: string[] | null };
      return request.respondWithRow(applianceUpgrades, await upgrades.create(request.body, endpointIds, request.by));
    },
  },
  ...(["pause", "resume", "cancel"] as const).map(
    (what): Action => ({
      method: "post",
      at: `appliance-upgrades/{applianceUpgradeId}/${what}`,
      doc: COMMAND_DOCS[what],
      response: { kind: "row", resource: applianceUpgrades },
      async handle(request) {
        const { id } = requireVisibleRow(request, applianceUpgrades, request.params.applianceUpgradeId ?? "");
        return request.respondWithRow(applianceUpgrades, await request.needs.link.upgrades()[what](id, request.by));
      },
    }),
  ),
];
