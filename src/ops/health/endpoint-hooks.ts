import { parseLicenceFilters } from "../../devices/licence-filters.ts";
import { ConflictError, invalidValue } from "../../lib/errors.ts";
import type endpoints from "../../resources/devices/endpoints.ts";
import extensions from "../../resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/on-premises-extension.ts";
import type { ResourceHooks, StoreReader } from "../../store/store.ts";
import { validateEndpointConfig } from "./endpoint-config.ts";
import { type FailoverStatus, presentFailoverStatus } from "./failover-status.ts";
import type { HealthMonitor } from "./health.ts";

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
export interface EndpointHookDeps {
  /** This appliance's endpoint. */
  ownId(): string;
  health: HealthMonitor;
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
export function endpointHooks({
  ownId,
  health,
  failover,
  buildInfo,
  clock,
}: EndpointHookDeps): ResourceHooks<typeof endpoints> {
  return {
    beforeWrite({ op, before, after }, tx, by) {
      if (op === "create" && after && !by.replicated) rejectPluginExtension(tx, after.extensionId);
      parseLicenceFilters(after?.config);
      validateEndpointConfig(after?.config);
      if (op === "delete" && before?.id === ownId())
        throw new ConflictError("An appliance can't delete its own endpoint.");
    },
    present(rows, { reader, query }) {
      const built = (): object => ({ ...buildInfo(), ...listPlugins(reader) });
      return rows.map(({ id }) => {
        const own = id === ownId();
        return {
          hasMigratedSpeakers: false,
          skipEndpointHealthAssessment: false,
          ...(query.includeBuildInfo === false ? {} : { buildInfo: own ? built() : null }),
          ...(query.includeFailoverDetails === true && {
            failoverDetails: presentFailoverStatus(failover(id)),
          }),
          ...(query.includeStatus === false ? {} : own ? { ...presentHealth(health), clock: clock() } : UNKNOWN_STATUS),
        };
      });
    },
  };
}

/** Plugins run on an appliance and have none below them: a device below such an endpoint would never be asked. own choice */
function rejectPluginExtension(reader: StoreReader, extensionId: string): void {
  const plugin = reader.get(extensions, extensionId)?.plugin;
  if (!plugin) return;
  throw invalidValue(
    "extensionId",
    `${plugin} is a plugin. Appliances stand below the extension ${ONPREM_EXTENSION_ID}, and so do their devices.`,
  );
}

/** The plugins of this appliance by name, on and off. */
function listPlugins(reader: StoreReader): { additionalFeatures: string[]; disabledFeatures: string[] } {
  const all = reader
    .find(extensions, {})
    .flatMap(({ plugin, disabled, globalDisabled }) =>
      plugin === null ? [] : [{ plugin, isOff: disabled || globalDisabled }],
    );
  const named = (isOff: boolean): string[] => all.flatMap((each) => (each.isOff === isOff ? [each.plugin] : [])).sort();
  return { additionalFeatures: named(false), disabledFeatures: named(true) };
}

const UNKNOWN_STATUS = { status: null, redReasons: null, yellowReasons: null, statusLastUpdated: null, clock: null };

function presentHealth(health: HealthMonitor): Record<string, unknown> {
  const { status, redReasons, yellowReasons, since } = health.report();
  return { status, redReasons, yellowReasons, statusLastUpdated: new Date(since).toISOString() };
}
