import applianceUpgrades from "../../resources/devices/appliance-upgrades.ts";
import { list, uuid } from "../../schema/field.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const { firstWave, waveSize, growth, timeLimit, steadyTime } = applianceUpgrades.fields;
const ROLLOUT_FIELDS = {
  endpointIds: list(
    "Appliances in the order of the upgrade; default: all appliances that may connect.",
    uuid("Id of an appliance."),
    {
      minItems: 1,
      maxItems: 10_000,
    },
  ),
};
const validateRollout = compileBodyValidator(ROLLOUT_FIELDS);

const COMMAND_DOCS = {
  pause: "Pauses an upgrade: no further wave starts; upgrades already commanded continue.",
  resume: "Resumes a paused or stopped upgrade; failed appliances are commanded again.",
  cancel: "Cancels an upgrade; appliances that were not commanded yet are left unchanged.",
} as const;

/** Staged upgrades of appliances, in the cloud. */
export const applianceUpgradeActions: readonly Action[] = [
  {
    method: "post",
    at: "appliance-upgrades",
    permission: "super",
    doc: "Starts a staged upgrade of appliances to the available version. Cloud only.",
    response: { kind: "row", resource: applianceUpgrades },
    accepts: { ...ROLLOUT_FIELDS, firstWave, waveSize, growth, timeLimit, steadyTime },
    async handle(request) {
      const upgrades = request.deps.link.upgrades();
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
        return request.respondWithRow(applianceUpgrades, await request.deps.link.upgrades()[what](id, request.by));
      },
    }),
  ),
];
