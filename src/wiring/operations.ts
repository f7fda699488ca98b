import { join } from "node:path";
import { cronSchedule } from "../importers/cron-schedule.ts";
import type { Clock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { productVersion } from "../lib/product-version.ts";
import { type BackupsReport, createBackupScheduler } from "../ops/backup/backup-scheduler.ts";
import { createDaemonRuns, DAEMON_RUNS, type DaemonRuns } from "../ops/daemon-runs.ts";
import type { DaemonState } from "../ops/diagnostics.ts";
import {
  createEndpointCommands,
  type EndpointCommandHandler,
  type EndpointCommandType,
} from "../ops/endpoint-commands.ts";
import type { HealthMonitor, HealthSource } from "../ops/health/health.ts";
import { createLicence, type Licence } from "../ops/licence.ts";
import { collectLogs, logBundleName, pruneLogBundles } from "../ops/logs/log-bundle.ts";
import { OPERATION_STATE } from "../ops/operation-state.ts";
import { createOutboundHeartbeat, sendHeartbeatRequest } from "../ops/outbound-heartbeat.ts";
import { reportSettings, type SettingsFile, type SettingsReport } from "../ops/settings-report.ts";
import { createSystemdNotifier, createWatchdog, watchdogTimeoutMs } from "../ops/systemd-watchdog.ts";
import { type CertificateService, createCertificateService } from "../ops/tls/certificate-service.ts";
import { createRemoteUpgrade, offerUpgrade } from "../ops/upgrade/remote-upgrade.ts";
import { findVersionsRoot } from "../ops/upgrade/upgrade-request.ts";
import type { Settings } from "../settings/schema.ts";
import { readLocalIdentity } from "../sync/identity/local-identity.ts";
import type { ApplianceData } from "./appliance-data.ts";
import { createBackupCommands } from "./backup-commands.ts";
import type { ControlCommand } from "./control-commands.ts";

/** Tables of the room `operations`. */
export const OPS_TABLES = [OPERATION_STATE, DAEMON_RUNS];

/** What keeps the appliance itself in order. */
export interface OperationsDeps {
  dataDir: string;
  settings: Settings;
  data: ApplianceData;
  clock: Clock;
  events: Events;
  log: Log;
  endpointId(): string;
  settingsFile?: SettingsFile;
  onRestart?: () => void;
  /** Reads the phones of all call managers anew. */
  rebuildPhoneCache: EndpointCommandHandler;
  /** Test broadcasts are not heard. */
  isSelfTestSilent(): boolean;
}

/** Backups, and orders to the appliance. */
export interface Operations {
  /** What of it is not as it should be. */
  healthSource: HealthSource;
  licence: Licence;
  /** What of it is shown. */
  maintenance: {
    settings(): Promise<SettingsReport>;
    backups(): Promise<BackupsReport>;
    certificate: CertificateService;
  };
  /** Runs of the daemon, and how they ended. */
  runs: Pick<DaemonRuns, "newest">;
  /** What commands may order of it. */
  controlCommands: Readonly<Record<string, ControlCommand>>;
  /** Tells systemd, where it started the process, that messages can be sent, and from then on that it lives. */
  notifyReady(): void;
  /** `report` is how the appliance is, `url` where it is reached, `listen` the HOST:PORT that it was started with. */
  start(running: {
    reloadCertificate(): Promise<void>;
    report: HealthMonitor["report"];
    url: string;
    listen: string;
  }): Promise<void>;
  stop(): Promise<void>;
}

/** own choice: nobody reads more at once */
const MOST_RUNS = 1_000;

/** Carried out by the link of an appliance that has one. */
const LINK_COMMAND_TYPES: readonly EndpointCommandType[] = [
  "device-sync",
  "full-resync",
  "replication-queue-reset",
  "replication-clean-up",
];

/** Makes them; nothing runs before `start`. */
export function createOperations(needs: OperationsDeps): Operations {
  const { dataDir, settings, data, clock, events, log, endpointId } = needs;
  const { store, access } = data;
  const common = { store, clock, events, log, endpointId };
  const version = productVersion();
  const backups = createBackupScheduler({
    ...common,
    dataDir,
    version,
    settings: settings.backups,
    schedule: cronSchedule,
  });
  let supervision: ReturnType<typeof createWatchdog> | null = null;
  let running: Parameters<Operations["start"]>[0] | null = null;
  const state = (): DaemonState => {
    const { status = "GREEN", reasons = [] } = running?.report() ?? {};
    return { version, url: running?.url ?? "", ...(running && { listen: running.listen }), status, reasons };
  };
  const reload = async (): Promise<void> => running?.reloadCertificate();
  const licence = createLicence({ ...common, keys: settings.trust.licences });
  const isHealthy = (): boolean => state().status !== "RED";
  const heartbeat = createOutboundHeartbeat({
    clock,
    log,
    settings: settings.heartbeat,
    isHealthy,
    sendRequest: sendHeartbeatRequest,
  });
  const runs = createDaemonRuns({ store, clock, dataDir, version });
  const trusted = { store, keys: settings.trust.upgrades };
  const upgrade = createRemoteUpgrade({
    ...trusted,
    dataDir,
    version,
    clock,
    root: findVersionsRoot(process.argv[1] ?? ""),
  });
  const endpointCommands = createEndpointCommands({
    ...common,
    by: access.systemContext("operations"),
    handlers: {
      "phone-cache-rebuild": needs.rebuildPhoneCache,
      upgrade,
      // Plugins come with the version.
      "upgrade-all": upgrade,
      backup: async () => {
        const { path, bytes, manifest } = await backups.take();
        return { file: path, bytes, files: manifest.files.length, takenAt: manifest.takenAt };
      },
      "collect-logs": async () => {
        const folder = join(dataDir, "bundles");
        const file = join(folder, logBundleName(clock.now()));
        const { bytes } = await collectLogs(dataDir, file, { settings, state: state() });
        pruneLogBundles(folder);
        return { file, bytes };
      },
    },
    unsupported: readLocalIdentity(dataDir) ? [] : LINK_COMMAND_TYPES,
    checkRestartAllowed: async () => void (await needs.settingsFile?.read()),
    restart: () => needs.onRestart?.(),
  });
  return {
    healthSource: () => [...backups.healthReasons(), ...runs.healthReasons(), ...heartbeat.source()],
    licence,
    maintenance: {
      settings: () => reportSettings(settings, needs.settingsFile ?? null),
      backups: backups.report,
      certificate: createCertificateService({ dataDir, clock, log, reload }),
    },
    runs,
    controlCommands: {
      /** `{}`, for `install` `{document}` -> LicenceState. */
      "licence.show": async () => licence.state(),
      "licence.remove": () => licence.remove(),
      "licence.install": async ({ document }) => {
        if (typeof document !== "string") throw invalidValue("document", "It is a text.");
        return licence.install(document);
      },
      ...createBackupCommands(backups.take, clock),
      /** `{file}` -> OfferedUpgrade: appliances that are ordered to upgrade fetch it. */
      "upgrade.offer": ({ file }) => offerUpgrade(file, trusted),
      /** `{}` -> DaemonState. */
      state: async () => state(),
      /** `{}` -> Run[], the newest first. */
      runs: async () => runs.newest(MOST_RUNS),
      /** `{}` -> null: another certificate is shown. */
      "tls.reload": async () => {
        await reload();
        return null;
      },
    },
    async start(now) {
      running = now;
      const how = await runs.start();
      if (how !== null) log.warn({ how }, "the run before was cut off");
      licence.start();
      heartbeat.start();
      await backups.start();
      await endpointCommands.start();
    },
    notifyReady() {
      const tell = createSystemdNotifier(process.env, log);
      if (!tell) return;
      supervision = createWatchdog({
        ...{ store, clock, log, tell, isSilent: needs.isSelfTestSilent },
        watchdogTimeoutMs: watchdogTimeoutMs(process.env),
      });
      supervision.ready();
    },
    async stop() {
      supervision?.stop();
      licence.stop();
      heartbeat.stop();
      await runs.stop();
      await Promise.all([backups.stop(), endpointCommands.stop()]);
    },
  };
}
