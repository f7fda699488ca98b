import { parseLicenceFilters } from "../../devices/licence-filters.ts";
import { ConflictError, invalidValue } from "../../lib/errors.ts";
import type { SentenceReader } from "../../lib/sentences/registry.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import callmgrClusters from "../../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../../resources/callmgr/callmgr-onprem-servers.ts";
import type endpoints from "../../resources/devices/endpoints.ts";
import extensions from "../../resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/on-premises-extension.ts";
import type { ResourceHooks, StoreReader } from "../../store/store.ts";
import type { SiteZone } from "../../time-zones/site-zone.ts";
import { validateEndpointConfig } from "./endpoint-config.ts";
import { type FailoverStatus, presentFailoverStatus } from "./failover-status.ts";
import type { HealthMonitor } from "./health.ts";

/** Version and host of the running software. */
export interface BuildInfo {
  app: string;
  version: string;
  apiVersion: string;
  /** Host name. */
  fqdn: string;
  /** External addresses; may be empty. */
  ipAddresses: string[];
}

/** Sources of the computed fields of endpoints. */
export interface EndpointHookDeps {
  /** Id of this appliance's endpoint. */
  ownId(): string;
  health: HealthMonitor;
  /** Failover role and state of an appliance. */
  failover(endpointId: string): FailoverStatus;
  buildInfo(): BuildInfo;
  clock(): SiteClock;
  /** Those of the rows that the cloud and its appliances share. */
  sharedIds(reader: StoreReader, type: string, ids: readonly string[]): { has(id: string): boolean };
}

/** Time zone and synchronization of the appliance's clock. */
export interface SiteClock extends SiteZone {
  /** Time zone of the site, such as `Europe/Berlin`. */
  timeZone: string;
  /** Whether the clock is synchronized (NTP); null if unknown. */
  synchronised: boolean | null;
}

/**
 * Adds status and build info to this appliance's own endpoint; shown by default, left out with `includeStatus=false` and
 * `includeBuildInfo=false`. The own endpoint can't be deleted.
 */
export function endpointHooks({
  ownId,
  health,
  failover,
  buildInfo,
  clock,
  sharedIds,
}: EndpointHookDeps): ResourceHooks<typeof endpoints> {
  /** Of the appliances with clusters: whether the cloud has all of them. */
  function readSharedClusters(reader: StoreReader): Map<string, boolean> {
    const used = reader.find(callmgrOnpremServers, {});
    const shared = sharedIds(
      reader,
      callmgrClusters.name,
      used.map(({ cucmClusterId }) => cucmClusterId),
    );
    const found = new Map<string, boolean>();
    for (const { endpointId, cucmClusterId } of used)
      found.set(endpointId, (found.get(endpointId) ?? true) && shared.has(cucmClusterId));
    return found;
  }

  return {
    beforeWrite({ op, before, after }, tx, by) {
      if (op === "create" && after && !by.replicated) rejectPluginExtension(tx, after.extensionId);
      parseLicenceFilters(after?.config);
      validateEndpointConfig(after?.config);
      if (op === "delete" && before?.id === ownId())
        throw new ConflictError(sentence("error.the-appliance-s-own-endpoint-can-t-be-deleted"));
    },
    present(rows, { reader, query, sentences }) {
      const buildInfoWithPlugins = (): object => ({ ...buildInfo(), ...listPlugins(reader) });
      const shared = readSharedClusters(reader);
      return rows.map(({ id }) => {
        const isOwn = id === ownId();
        return {
          isCucmMigrated: shared.get(id) ?? false,
          hasMigratedSpeakers: false,
          skipEndpointHealthAssessment: false,
          ...(query.includeBuildInfo === false ? {} : { buildInfo: isOwn ? buildInfoWithPlugins() : null }),
          ...(query.includeFailoverDetails === true && {
            failoverDetails: presentFailoverStatus(failover(id)),
          }),
          ...(query.includeStatus === false
            ? {}
            : isOwn
              ? { ...presentHealth(health, sentences), clock: clock() }
              : UNKNOWN_STATUS),
        };
      });
    },
  };
}

/** A plugin's extension has no appliances: devices below such an endpoint would never get a message. */
function rejectPluginExtension(reader: StoreReader, extensionId: string): void {
  const plugin = reader.get(extensions, extensionId)?.plugin;
  if (!plugin) return;
  throw invalidValue(
    "extensionId",
    sentence("field.plugin-is-a-plugin-appliances-and-their-devices-must-belong-to-the-extension-extension", {
      plugin,
      extension: ONPREM_EXTENSION_ID,
    }),
  );
}

/** Names of the enabled and disabled plugins of this appliance. */
function listPlugins(reader: StoreReader): { additionalFeatures: string[]; disabledFeatures: string[] } {
  const all = reader
    .find(extensions, {})
    .flatMap(({ plugin, disabled, globalDisabled }) =>
      plugin === null ? [] : [{ plugin, isOff: disabled || globalDisabled }],
    );
  const named = (isOff: boolean): string[] => all.flatMap((each) => (each.isOff === isOff ? [each.plugin] : [])).sort();
  return { additionalFeatures: named(false), disabledFeatures: named(true) };
}

const UNKNOWN_STATUS = {
  status: null,
  redReasons: null,
  yellowReasons: null,
  reasonSentences: null,
  statusLastUpdated: null,
  clock: null,
};

function presentHealth(health: HealthMonitor, sentences: SentenceReader): Record<string, unknown> {
  const { status, redReasons, yellowReasons, since } = health.report();
  const reasonSentences = sentences.readAll([...redReasons, ...yellowReasons]);
  return { status, redReasons, yellowReasons, reasonSentences, statusLastUpdated: new Date(since).toISOString() };
}
