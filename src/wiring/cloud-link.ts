import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createHubLink, type HubLink, type HubLinkCallbacks, type HubLinkDeps } from "../cloud-link/hub-link.ts";
import { createLinkAdminService, type LinkAdminService } from "../cloud-link/link-admin-service.ts";
import { HAND_OVER_COLLECTIONS } from "../cloud-link/secret-hand-over/hub-hand-over.ts";
import {
  createSiteLink,
  type LinkReport,
  type SiteLink,
  type SiteLinkCallbacks,
  type SiteLinkDeps,
} from "../cloud-link/site-link.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, invalidValue, requiredValue, UpstreamError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { productVersion } from "../lib/product-version.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { DeliveryProviders } from "../notifications/engine/delivery-providers.ts";
import type { HealthSource } from "../ops/health/health.ts";
import type { Settings } from "../settings/schema.ts";
import type { InternalTable } from "../store/store.ts";
import { PENDING_LEDGER_TABLE } from "../sync/capture/deferred-ledger-sync.ts";
import { PRESENCES } from "../sync/hub/presence-store.ts";
import { IDENTITY_COLLECTIONS } from "../sync/identity/enrolment-records.ts";
import { INITIAL_SYNC_TABLES } from "../sync/initial-sync/initial-sync.ts";
import { SECRET_MARKS_TABLE } from "../sync/site/secret-marks.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../sync/storage/collections.ts";
import { collectionTables, createSqliteProgramRunner } from "../sync/storage/sqlite-program-runner.ts";
import type { Collection } from "../sync/storage/transaction-program.ts";
import type { HubRoute } from "../sync/transport/hub-address.ts";
import type { ApplianceData } from "./appliance-data.ts";
import type { ControlCommand } from "./control-commands.ts";

/** Tables of the module `sync`. */
export const SYNC_TABLES: readonly InternalTable[] = collectionTables([
  ...SITE_COLLECTIONS,
  ...HUB_COLLECTIONS,
  ...IDENTITY_COLLECTIONS,
  ...HAND_OVER_COLLECTIONS,
  PRESENCES as unknown as Collection<never>,
]).concat(PENDING_LEDGER_TABLE, SECRET_MARKS_TABLE, ...INITIAL_SYNC_TABLES);

const RANDOM_RANGE = 2 ** 32;

export interface CloudLinkDeps {
  dataDir: string;
  data: ApplianceData;
  clock: Clock;
  events: Events;
  log: Log;
  /** This daemon is a cloud. */
  isHub?: boolean;
  endpointId(): string;
  settings: Pick<Settings, "cloud">;
  /** Ends of audits: of the own one at an appliance, of the appliances at a cloud. */
  auditNotes?: NonNullable<SiteLinkDeps["auditNotes"]>;
  heldAuditNotes?: NonNullable<HubLinkDeps["heldAuditNotes"]>;
  /** Restarts the daemon. */
  onRestart?: () => void;
  /** Shared log of a cloud with several nodes. */
  shared?: NonNullable<HubLinkDeps["shared"]>;
}

/** What both ends of a link use, once they run. */
export interface CloudLinkCallbacks extends SiteLinkCallbacks, HubLinkCallbacks {}

/** The daemon's side of cloud links: one link at an appliance, many at a cloud. */
export interface CloudLink {
  healthSource: HealthSource;
  /** At a cloud: accepts connections of appliances; null otherwise. */
  acceptConnection: HubLink["accept"] | null;
  report(): LinkReport;
  /** The delivery channels; a cloud adds the channel to its appliances. */
  withApplianceChannel(providers: DeliveryProviders): DeliveryProviders;
  hub: HubLink | null;
  site: SiteLink | null;
  /** Status and actions for the console. */
  adminService: LinkAdminService;
  /** The link to the cloud is open. */
  isConnected(): boolean;
  controlCommands: Readonly<Record<string, ControlCommand>>;
  /** Must be called before the first write that is to be replicated. */
  startRecording(): void;
  start(callbacks: CloudLinkCallbacks): Promise<void>;
  stop(): void;
}

/** Connects only at `start`. */
export function createCloudLink(deps: CloudLinkDeps): CloudLink {
  const { data, clock } = deps;
  const common = { ...deps, store: data.store, catalogue: data.catalogue, recording: data.recording };
  const by = data.access.systemContext("replication");
  const restart = (): void => deps.onRestart?.();
  const { store, catalogue } = data;
  const adminDeps = { store, catalogue, clock, runner: createSqliteProgramRunner(store, catalogue, by), restart };
  const createAdminService = (of: Pick<CloudLink, "site" | "hub">): LinkAdminService =>
    createLinkAdminService({ ...adminDeps, ...of, endpointId: deps.endpointId });
  if (deps.isHub) {
    const hub = createHubLink({ ...common, by });
    return createHubSide(hub, createAdminService({ hub, site: null }));
  }
  const site = createSiteLink({
    ...common,
    by,
    version: productVersion(),
    route: connectionSettings(deps.settings.cloud),
    random: () => randomInt(RANDOM_RANGE) / RANDOM_RANGE,
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
      ...rejectedCommands(CLOUD_COMMANDS, "Run this command at the cloud: this daemon is an appliance."),
      /** `{}` -> LinkReport with `secretTasks` and `exchangeKey`, the fingerprint of the key that secrets are sealed for. */
      "link.status": async () => ({
        ...site.report(),
        secretTasks: site.secretTasks(),
        exchangeKey: site.exchangeKeyFingerprint(),
      }),
      /** `{}` -> `{secretTasks}` after the secrets that the cloud hands over were fetched. */
      "link.secrets": async () => {
        await site.fetchSecrets();
        return { secretTasks: site.secretTasks() };
      },
      /** `{hub, code, mode?, authority?}` -> `{endpoint}`; the daemon restarts. */
      "link.enrol": async ({ hub, code, mode = "join", authority }) => {
        if (typeof hub !== "string") throw requiredValue("hub");
        if (typeof code !== "string") throw requiredValue("code");
        if (mode !== "adopt" && mode !== "join") throw invalidValue("mode", sentence("field.must-be-adopt-or-join"));
        const enrolled = await site.enrol({
          hub,
          code,
          mode,
          authority: typeof authority === "string" ? authority : null,
        });
        clock.defer(restart);
        return enrolled;
      },
      /** `{action: "retry" | "accept"}` -> `{rows}`: how many rows were sent again. */
      "link.initial-sync": async ({ action }) => {
        if (action === "retry") return { rows: await site.retryInitialSync() };
        if (action !== "accept") throw invalidValue("action", sentence("field.must-be-retry-or-accept"));
        await site.acceptInitialSync();
        return { rows: 0 };
      },
      /** `{}` -> null; the daemon restarts. */
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
    throw new UpstreamError("starting", `cloud.authority: can't read ${path}.`, { path }, error);
  }
}

/** Control commands that only one side of a link supports. */
const CLOUD_COMMANDS = ["link.code", "link.revoke"];
const APPLIANCE_COMMANDS = ["link.enrol", "link.initial-sync", "link.leave", "link.secrets"];

function rejectedCommands(names: readonly string[], message: string): Readonly<Record<string, ControlCommand>> {
  const reject: ControlCommand = () => Promise.reject(new CallerError("not-found", message));
  return Object.fromEntries(names.map((name) => [name, reject]));
}

function createHubSide(link: HubLink, adminService: LinkAdminService): CloudLink {
  const noLink = {
    hub: null,
    mode: "solo",
    link: null,
    applied: null,
    queued: 0,
    parked: 0,
    certificateUntil: null,
    initialSync: null,
  };
  return {
    healthSource: () => [],
    acceptConnection: link.accept,
    report: () => noLink as LinkReport,
    withApplianceChannel: link.extendProviders,
    hub: link,
    site: null,
    adminService,
    isConnected: () => false,
    // Not needed: a cloud compares all rows when it starts.
    startRecording: () => undefined,
    start: link.start,
    stop: link.stop,
    controlCommands: {
      ...rejectedCommands(APPLIANCE_COMMANDS, "Run this command at the appliance: this daemon is a cloud."),
      /** `{endpoint?, domains?}` -> `{code, until}`. */
      "link.code": ({ endpoint, domains }) =>
        adminService.createEnrolmentCode({
          endpoint: typeof endpoint === "string" ? endpoint : null,
          domainIds: Array.isArray(domains) ? domains.map(String) : null,
        }),
      /** `{endpoint}` -> null. */
      "link.revoke": async ({ endpoint }) => {
        if (typeof endpoint !== "string") throw requiredValue("endpoint");
        await link.revoke(endpoint);
        return null;
      },
      /** `{}` -> ids of the linked appliances, and the state of all. */
      "link.status": async () => ({ connected: link.connected(), appliances: await adminService.appliances() }),
    },
  };
}
