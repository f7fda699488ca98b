import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { Action } from "./action.ts";
import type { Endpoint } from "./endpoint.ts";

/** Where the families of the appliance lie, below `/api/`. */
const PREFIX = "onprem/v1";

/** A family as it stands below the prefix, and the path below `/v1/` that it is another spelling of. */
interface PathFamily {
  name: string;
  path: string;
  /** Ids of the path's placeholders that the shorter spelling leaves out. */
  fixedIds?: Readonly<Record<string, string>>;
}

/**
 * Families with a prefix of their own; those that nobody declares are not served. @source service-api.md, Versioning 3;
 * decisions.md 13. own choice: `plugins/call-aware` is its calls, below it lie its
 * redirects and routing requests.
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

/** The further spellings of an action's path; none for what lies in no such family. */
export function onPremisesPaths({ at, outsideVersion }: Pick<Action, "at" | "outsideVersion">): OnPremisesPath[] {
  if (outsideVersion) return [];
  const families = ON_PREMISES_FAMILIES.filter(({ path }) => at === path || at.startsWith(`${path}/`));
  return families.map((family) => ({ at: `${PREFIX}/${family.name}${at.slice(family.path.length)}`, family }));
}

/**
 * The same endpoint at its further spellings. A request there becomes one for the path below `/v1/` before anything is
 * asked of it, so that permission, domain, limits and repeated keys are those of one resource, however it is spelt.
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
