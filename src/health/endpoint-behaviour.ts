import { ConflictError, invalidValue } from "../base/errors.ts";
import type endpoints from "../resources/devices/endpoints.ts";
import type { Behaviour } from "../store/store.ts";
import type { Health } from "./health.ts";

/** What the appliance runs. */
export interface BuildInfo {
  app: string;
  version: string;
  apiVersion: string;
  /** Name of the machine. */
  fqdn: string;
  /** Its outside addresses; may be empty. */
  ipAddresses: string[];
}

/** What the rows of endpoints say beyond what is stored. */
export interface EndpointNeeds {
  /** This appliance's endpoint. */
  ownId(): string;
  health: Health;
  buildInfo(): BuildInfo;
}

/**
 * Shows status and software of this appliance on its own endpoint; `includeStatus=false` and `includeBuildInfo=false`
 * leave them out. own choice: shown unless told otherwise. The own endpoint stays.
 */
export function endpointBehaviour({ ownId, health, buildInfo }: EndpointNeeds): Behaviour<typeof endpoints> {
  return {
    beforeWrite({ op, before, after }) {
      checkConfig(after?.config);
      if (op === "delete" && before?.id === ownId())
        throw new ConflictError("An appliance can't delete its own endpoint.");
    },
    present(rows, { query }) {
      return rows.map(({ id }) => {
        const own = id === ownId();
        return {
          ...(query.includeBuildInfo === false ? {} : { buildInfo: own ? buildInfo() : null }),
          ...(query.includeStatus === false ? {} : own ? shown(health) : NOT_KNOWN),
        };
      });
    },
  };
}

const LICENCE_FILTERS = ["phoneFilter", "speakerFilter", "idnFilter"] as const;
/** Filters of a type that choose the licensed devices. @source service-api.md, Limits */
const MOST_FILTERS = 200;

function checkConfig(config: unknown): void {
  if (config === null || config === undefined) return;
  if (typeof config !== "object" || Array.isArray(config)) throw invalidValue("config", "An object is expected.");
  for (const name of LICENCE_FILTERS) {
    const filters = (config as Partial<Record<string, { filters?: unknown } | null>>)[name]?.filters ?? [];
    if (!Array.isArray(filters)) throw invalidValue("config", `${name}.filters is a list.`);
    if (filters.flat().length > MOST_FILTERS) {
      throw invalidValue("config", `${name} has at most ${MOST_FILTERS} filters.`);
    }
  }
}

const NOT_KNOWN = { status: null, redReasons: null, yellowReasons: null, statusLastUpdated: null };

function shown(health: Health): Record<string, unknown> {
  const { status, redReasons, yellowReasons, since } = health.report();
  return { status, redReasons, yellowReasons, statusLastUpdated: new Date(since).toISOString() };
}
