import { ConflictError, invalidValue } from "../base/errors.ts";
import { readLicenceFilters } from "../devices/licence-filters.ts";
import type endpoints from "../resources/devices/endpoints.ts";
import extensions from "../resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import type { Behaviour, Reader } from "../store/store.ts";
import { checkEndpointConfig } from "./endpoint-config.ts";
import { type FailoverStatus, shownFailover } from "./failover-status.ts";
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
  /** How an appliance stands to those that would take its place. */
  failover(endpointId: string): FailoverStatus;
  buildInfo(): BuildInfo;
  clock(): SiteClock;
}

/** What the appliance's clock is worth. */
export interface SiteClock {
  /** Zone that its people live in, such as `Europe/Berlin`. */
  timeZone: string;
  /** Whether it follows a reference; null when that is not known. */
  synchronised: boolean | null;
}

/**
 * Shows status and software of this appliance on its own endpoint; `includeStatus=false` and `includeBuildInfo=false`
 * leave them out. own choice: shown unless told otherwise. The own endpoint stays.
 */
export function endpointBehaviour({
  ownId,
  health,
  failover,
  buildInfo,
  clock,
}: EndpointNeeds): Behaviour<typeof endpoints> {
  return {
    beforeWrite({ op, before, after }, tx, by) {
      if (op === "create" && after && !by.replicated) refusePlugins(tx, after.extensionId);
      readLicenceFilters(after?.config);
      checkEndpointConfig(after?.config);
      if (op === "delete" && before?.id === ownId())
        throw new ConflictError("An appliance can't delete its own endpoint.");
    },
    present(rows, { reader, query }) {
      const built = (): object => ({ ...buildInfo(), ...pluginsIn(reader) });
      return rows.map(({ id }) => {
        const own = id === ownId();
        return {
          hasMigratedSpeakers: false,
          skipEndpointHealthAssessment: false,
          ...(query.includeBuildInfo === false ? {} : { buildInfo: own ? built() : null }),
          ...(query.includeFailoverDetails === true && {
            failoverDetails: shownFailover(failover(id)),
          }),
          ...(query.includeStatus === false ? {} : own ? { ...shown(health), clock: clock() } : NOT_KNOWN),
        };
      });
    },
  };
}

/** Plugins run on an appliance and have none below them: a device below such an endpoint would never be asked. own choice */
function refusePlugins(reader: Reader, extensionId: string): void {
  const plugin = reader.get(extensions, extensionId)?.plugin;
  if (!plugin) return;
  throw invalidValue(
    "extensionId",
    `${plugin} is a plugin. Appliances stand below the extension ${ONPREM_EXTENSION_ID}, and so do their devices.`,
  );
}

/** The plugins of this appliance by name, on and off. */
function pluginsIn(reader: Reader): { additionalFeatures: string[]; disabledFeatures: string[] } {
  const all = reader
    .find(extensions, {})
    .flatMap(({ plugin, disabled, globalDisabled }) =>
      plugin === null ? [] : [{ plugin, isOff: disabled || globalDisabled }],
    );
  const named = (isOff: boolean): string[] => all.flatMap((each) => (each.isOff === isOff ? [each.plugin] : [])).sort();
  return { additionalFeatures: named(false), disabledFeatures: named(true) };
}

const NOT_KNOWN = { status: null, redReasons: null, yellowReasons: null, statusLastUpdated: null, clock: null };

function shown(health: Health): Record<string, unknown> {
  const { status, redReasons, yellowReasons, since } = health.report();
  return { status, redReasons, yellowReasons, statusLastUpdated: new Date(since).toISOString() };
}
