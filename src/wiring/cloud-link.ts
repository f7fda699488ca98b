import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createHubLink, type HubLink, type HubLinkDeps } from "../cloud-link/hub-link.ts";
import { createLinkAdminService, type LinkAdminService } from "../cloud-link/link-admin-service.ts";
import {
  createSiteLink,
  type LinkFailover,
  type LinkReport,
  type SiteLink,
  type SiteLinkDeps,
} from "../cloud-link/site-link.ts";
import type { Clock } from "../lib/clock.ts";
import { invalidValue, requiredValue, UpstreamError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { productVersion } from "../lib/product-version.ts";
import type { DeliveryProviders } from "../notifications/engine/delivery-providers.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import type { HealthSource } from "../ops/health/health.ts";
import type { Settings } from "../settings/schema.ts";
import type { InternalTable } from "../store/store.ts";
import { PENDING_LEDGER_TABLE } from "../sync/capture/deferred-ledger-sync.ts";
import { PRESENCES } from "../sync/hub/presence-store.ts";
import { IDENTITY_COLLECTIONS } from "../sync/identity/enrolment-records.ts";
import { INITIAL_SYNC_TABLES } from "../sync/initial-sync/initial-sync.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../sync/storage/collections.ts";
import { collectionTables, createSqliteProgramRunner } from "../sync/storage/sqlite-program-runner.ts";
import type { Collection } from "../sync/storage/transaction-program.ts";
import type { HubRoute } from "../sync/transport/hub-address.ts";
import type { ApplianceData } from "./appliance-data.ts";
import type { ControlCommand } from "./control-commands.ts";

/** Tables of the room `replication`. */
export const SYNC_TABLES: readonly InternalTable[] = collectionTables([
  ...SITE_COLLECTIONS,
  ...HUB_COLLECTIONS,
  ...IDENTITY_COLLECTIONS,
  PRESENCES as unknown as Collection<never>,
]).concat(PENDING_LEDGER_TABLE, ...INITIAL_SYNC_TABLES);

const RANDOM_STEPS = 2 ** 32;

/** What linking is made of. */
export interface CloudLinkDeps {
  dataDir: string;
  data: ApplianceData;
  clock: Clock;
  events: Events;
  log: Log;
  /** This daemon is the cloud of an organisation. */
  isHub?: boolean;
  endpointId(): string;
  /** Called once all runs. */
  notificationService(): NotificationService;
  settings: Pick<Settings, "cloud">;
  /** How the appliance is. Called once all runs. */
  health: SiteLinkDeps["health"];
  circle(): LinkFailover;
  /** Which appliances may activate devices, at a cloud. Called once all runs. */
  candidates: HubLinkDeps["candidates"];
  /** Carries out, at a cloud, a request that came to an appliance. */
  request: HubLinkDeps["request"];
  /** Starts the daemon anew. */
  onRestart?: () => void;
  /** Where a cloud's rows lie, if not here alone. */
  shared?: NonNullable<HubLinkDeps["shared"]>;
}

/** This daemon's end of links: of one as an appliance, of many as a cloud. */
export interface CloudLink {
  healthSource: HealthSource;
  /** The appliances' way in; null where there is none. */
  acceptConnection: HubLink["accept"] | null;
  report(): LinkReport;
  /** The channels that carry deliveries: the given ones, at a cloud also that to its appliances. */
  withApplianceChannel(providers: DeliveryProviders): DeliveryProviders;
  hub: HubLink | null;
  site: SiteLink | null;
  /** What people see of it and do about it. */
  adminService: LinkAdminService;
  /** The cloud is connected. */
  isConnected(): boolean;
  controlCommands: Readonly<Record<string, ControlCommand>>;
  /** To be called before anything writes that goes up. */
  startRecording(): void;
  start(): Promise<void>;
  stop(): void;
}

/** Makes it; nothing is connected before `start`. */
export function createCloudLink(needs: CloudLinkDeps): CloudLink {
  const { data, clock } = needs;
  const common = { ...needs, store: data.store, catalogue: data.catalogue, recording: data.recording };
  const by = data.access.systemContext("replication");
  const restart = (): void => needs.onRestart?.();
  const { store, catalogue } = data;
  const adminDeps = { store, catalogue, clock, runner: createSqliteProgramRunner(store, catalogue, by), restart };
  const createAdminService = (of: Pick<CloudLink, "site" | "hub">): LinkAdminService =>
    createLinkAdminService({ ...adminDeps, ...of, endpointId: needs.endpointId });
  if (needs.isHub) {
    const hub = createHubLink({ ...common, by });
    return createHubSide(hub, createAdminService({ hub, site: null }));
  }
  const site = createSiteLink({
    ...common,
    by,
    version: productVersion(),
    route: connectionSettings(needs.settings.cloud),
    random: () => randomInt(RANDOM_STEPS) / RANDOM_STEPS,
  });
  return {
    healthSource: site.healthReasons,
    acceptConnection: null,
    report: site.report,
    withApplianceChannel: (providers) => providers,
    hub: null,
    site,
    adminService: createAdminService({ site, hub: null }),
    isConnected: site.isConnected,
    startRecording: site.startRecording,
    start: site.start,
    stop: site.stop,
    controlCommands: {
      /** `{}` -> LinkReport. */
      "link.status": async () => site.report(),
      /** `{hub, code, mode?, authority?}` -> `{endpoint}`; the daemon starts anew then. */
      "link.enrol": async ({ hub, code, mode = "join", authority }) => {
        if (typeof hub !== "string") throw requiredValue("hub");
        if (typeof code !== "string") throw requiredValue("code");
        if (mode !== "adopt" && mode !== "join") throw invalidValue("mode", "It is adopt or join.");
        const made = await site.enrol({ hub, code, mode, authority: typeof authority === "string" ? authority : null });
        clock.defer(restart);
        return made;
      },
      /** `{}` -> null; the daemon starts anew then. */
      "link.leave": async () => {
        await site.leave();
        clock.defer(restart);
        return null;
      },
    },
  };
}

/** Throws UpstreamError when the file can't be read. */
function connectionSettings({ address, proxy, authority, heartbeatSeconds }: Settings["cloud"]): HubRoute {
  return { address, proxy, authority: authority && readAuthority(authority), pingIntervalMs: heartbeatSeconds * 1_000 };
}

function readAuthority(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UpstreamError("starting", `cloud.authority: ${path} can't be read.`, { path }, error);
  }
}

function createHubSide(link: HubLink, adminService: LinkAdminService): CloudLink {
  const nothing = { hub: null, mode: "solo", link: null, applied: null, queued: 0, parked: 0, certificateUntil: null };
  return {
    healthSource: () => [],
    acceptConnection: link.accept,
    report: () => nothing as LinkReport,
    withApplianceChannel: link.extendProviders,
    hub: link,
    site: null,
    adminService,
    isConnected: () => false,
    // All rows are looked at when it starts.
    startRecording: () => undefined,
    start: link.start,
    stop: link.stop,
    controlCommands: {
      /** `{endpoint?}` -> `{code, until}`. */
      "link.code": ({ endpoint }) => link.createEnrolmentCode(typeof endpoint === "string" ? endpoint : null),
      /** `{endpoint}` -> null. */
      "link.revoke": async ({ endpoint }) => {
        if (typeof endpoint !== "string") throw requiredValue("endpoint");
        await link.revoke(endpoint);
        return null;
      },
      /** `{}` -> ids of the appliances whose link stands. */
      "link.status": async () => ({ connected: link.connected() }),
    },
  };
}
