import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { Action } from "./action.ts";
import type { Endpoint } from "./endpoint.ts";

/** Prefix of on-premises paths below `/api/`. */
const PREFIX = "onprem/v1";

/** A resource family below the on-premises prefix and the equivalent path below `/v1/`. */
interface PathFamily {
  name: string;
  path: string;
  /** Ids of the path's placeholders that the shorter spelling leaves out. */
  fixedIds?: Readonly<Record<string, string>>;
}

/**
 * On-premises families; undeclared ones are not served.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md
 */
export const ON_PREMISES_FAMILIES: readonly PathFamily[] = [
  { name: "activation-groups", path: "activation-groups" },
  { name: "admin/telephony", path: "callmgr-clusters" },
  { name: "admin/tts/lexicon", path: "tts-lexicons" },
  { name: "admin/tts/voices", path: "tts-voices" },
  { name: "bells", path: "bell-schedules" },
  {
    name: "endpoints",
    path: "extensions/{extensionId}/endpoints",
    fixedIds: { extensionId: ONPREM_EXTENSION_ID },
  },
  { name: "messages", path: "message-templates" },
  { name: "plugins/night-bell", path: "night-bells" },
  { name: "recipient-groups", path: "device-groups" },
  { name: "scheduled-broadcasts", path: "scheduled-notifications" },
  { name: "plugins/call-aware", path: "active-callaware-calls" },
  { name: "plugins/call-aware/call-redirects", path: "call-aware-call-redirects" },
  { name: "plugins/call-aware/routing-requests", path: "call-aware-routing-requests" },
  { name: "plugins/m2m", path: "m2m-inputs" },
];

/** Another spelling of an endpoint's path. */
export interface OnPremisesPath {
  /** Below `/api/`: `onprem/v1/bells/{bellScheduleId}`. */
  at: string;
  family: PathFamily;
}

/** On-premises paths of an action; empty if its family has none. */
export function onPremisesPaths({ at, outsideVersion }: Pick<Action, "at" | "outsideVersion">): OnPremisesPath[] {
  if (outsideVersion) return [];
  const families = ON_PREMISES_FAMILIES.filter(({ path }) => at === path || at.startsWith(`${path}/`));
  return families.map((family) => ({ at: `${PREFIX}/${family.name}${at.slice(family.path.length)}`, family }));
}

/**
 * The same endpoint at its on-premises paths. Requests are rewritten to the `/v1/` path first, so that permissions,
 * domain, limits and idempotency keys are shared by both spellings.
 */
export function onPremisesEndpoints(action: Action, endpoint: Endpoint): Endpoint[] {
  return onPremisesPaths(action).map(({ at, family }) => ({
    ...endpoint,
    at,
    serve(incoming) {
      const below = incoming.path.slice(`${PREFIX}/${family.name}`.length);
      const params = { ...family.fixedIds, ...incoming.params };
      const path = family.path.replace(/\{(\w+)\}/g, (_all, name: string) => params[name] ?? "");
      return endpoint.serve({ ...incoming, path: `v1/${path}${below}`, params });
    },
  }));
}
