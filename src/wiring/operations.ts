import { join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { productVersion } from "../lib/product-version.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createHistoryRetention, type HistoryRetention } from "../notifications/retention/history-retention.ts";
import { HELD_AUDIT_NOTES } from "../ops/audit-notes.ts";
import { type BackupsReport, createBackupScheduler } from "../ops/backup/backup-scheduler.ts";
import { createDaemonRuns, DAEMON_RUNS, type DaemonRuns } from "../ops/daemon-runs.ts";
import type { DaemonState, NetworkState } from "../ops/diagnostics.ts";
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
import { createSystemdNotifier } from "../ops/systemd-notifier.ts";
import { createWatchdog, watchdogTimeoutMs } from "../ops/systemd-watchdog.ts";
import { type CertificateService, createCertificateService } from "../ops/tls/certificate-service.ts";
import { createRemoteUpgrade, offerUpgrade } from "../ops/upgrade/remote-upgrade.ts";
import { findVersionsRoot } from "../ops/upgrade/upgrade-request.ts";
import type { Settings } from "../settings/schema.ts";
import { readLocalIdentity } from "../sync/identity/local-identity.ts";
import type { CronScheduler } from "../time-zones/cron-schedule.ts";
import type { ApplianceData } from "./appliance-data.ts";
import { createBackupCommands } from "./backup-commands.ts";
import type { ControlCommand } from "./control-commands.ts";

/** Tables of the module `ops`. */
export const OPS_TABLES = [OPERATION_STATE, DAEMON_RUNS, HELD_AUDIT_NOTES];

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
  /** Reads the phones of all call managers again. */
  rebuildPhoneCache: EndpointCommandHandler;
  /** What the daemon sends from. */
  network(): NetworkState;
  schedule: CronScheduler;
  /** Offset of the site's time zone from UTC at an instant, in ms. */
  offsetAt(at: number): number;
  /** Loopback probes are inaudible. */
  isSelfTestSilent(): boolean;
}

/** Backups, upgrades, licence, logs and commands to the appliance. */
export interface Operations {
  healthSource: HealthSource;
  licence: Licence;
  /** Read-only state for the console. */
  maintenance: {
    settings(): Promise<SettingsReport>;
    backups(): Promise<BackupsReport>;
    retention: Pick<HistoryRetention, "report" | "begin">;
    certificate: CertificateService;
  };
  /** Runs of the daemon and how they ended. */
  runs: Pick<DaemonRuns, "newest">;
  controlCommands: Readonly<Record<string, ControlCommand>>;
  /** Sends READY to systemd, if it started the process, and starts the watchdog. */
  notifyReady(): void;
  /** `url`: where the API is reached; `listen`: the HOST:PORT of the settings or the command line. */
  start(running: {
    reloadCertificate(): Promise<void>;
    report: HealthMonitor["report"];
    url: string;
    listen: string;
  }): Promise<void>;
  stop(): Promise<void>;
}

/** Every hour: it takes milliseconds unless tables have grown. */
const STATISTICS_SCHEDULE = "41 * * * *";
/** More than anybody reads at once. */
const MAX_LISTED_RUNS = 1_000;

/** Executed by the cloud link, if there is one. */
const LINK_COMMAND_TYPES: readonly EndpointCommandType[] = [
  "device-sync",
  "full-resync",
  "replication-queue-reset",
  "replication-clean-up",
];

/** Nothing runs before `start`. */
export function createOperations(deps: OperationsDeps): Operations {
  const { dataDir, settings, data, clock, events, log, endpointId } = deps;
  const { store, access } = data;
  const common = { store, clock, events, log, endpointId };
  const version = productVersion();
  const backups = createBackupScheduler({
    ...common,
    dataDir,
    version,
    settings: settings.backups,
    schedule: deps.schedule,
    offsetAt: deps.offsetAt,
  });
  let watchdog: ReturnType<typeof createWatchdog> | null = null;
  let running: Parameters<Operations["start"]>[0] | null = null;
  let stopStatistics = (): void => undefined;
  const state = (): DaemonState => {
    const { status = "GREEN", reasons = [] } = running?.report() ?? {};
    const current = running && { listen: running.listen, network: deps.network() };
    return { version, url: running?.url ?? "", ...current, status, reasons };
  };
  const reload = async (): Promise<void> => running?.reloadCertificate();
  const licence = createLicence({ ...common, keys: settings.trust.licences });
  const retention = createHistoryRetention({
    ...{ store, clock, log, schedule: deps.schedule, settings: settings.retention },
    by: access.systemContext("retention"),
    isUnsent: (id) => store.one("SELECT 1 FROM pending_ledger_sync WHERE notification = ?", id) !== null,
  });
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
      "phone-cache-rebuild": deps.rebuildPhoneCache,
      upgrade,
      // Plugins are part of the version.
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
    checkRestartAllowed: async () => void (await deps.settingsFile?.read()),
    restart: () => deps.onRestart?.(),
  });
  return {
    healthSource: () => [...backups.healthReasons(), ...runs.healthReasons(), ...heartbeat.source()],
    licence,
    maintenance: {
      settings: () => reportSettings(settings, deps.settingsFile ?? null),
      backups: backups.report,
      retention,
      certificate: createCertificateService({ dataDir, clock, log, reload }),
    },
    runs,
    controlCommands: {
      /** `{}`, or `{document}` for install -> LicenceState. */
      "licence.show": async () => licence.state(),
      "licence.remove": () => licence.remove(),
      "licence.install": async ({ document }) => {
        if (typeof document !== "string") throw invalidValue("document", sentence("field.must-be-a-string"));
        return licence.install(document);
      },
      ...createBackupCommands(backups, clock),
      /** `{}` -> RetentionReport; removes nothing. */
      "retention.show": () => retention.report(),
      /** `{}` -> RetentionRun. */
      "retention.run": () => retention.run(),
      /** `{file}` -> OfferedUpgrade: appliances fetch it when an upgrade is requested. */
      "upgrade.offer": ({ file }) => offerUpgrade(file, trusted),
      /** `{}` -> DaemonState. */
      state: async () => state(),
      /** `{}` -> runs, newest first. */
      runs: async () => runs.newest(MAX_LISTED_RUNS),
      /** `{}` -> null; loads the certificate again. */
      "tls.reload": async () => {
        await reload();
        return null;
      },
    },
    async start(started) {
      running = started;
      const reason = await runs.start();
      if (reason !== null) log.warn({ event: "daemon.previous_run_unclean", reason }, "previous run ended uncleanly");
      licence.start();
      heartbeat.start();
      await backups.start();
      retention.start();
      stopStatistics = deps.schedule(STATISTICS_SCHEDULE, () => void store.refreshStatistics());
      await endpointCommands.start();
    },
    notifyReady() {
      const notify = createSystemdNotifier(process.env, log);
      if (!notify) return;
      watchdog = createWatchdog({
        ...{ store, clock, log, tell: notify, isSilent: deps.isSelfTestSilent },
        watchdogTimeoutMs: watchdogTimeoutMs(process.env),
      });
      watchdog.ready();
    },
    async stop() {
      watchdog?.stop();
      licence.stop();
      heartbeat.stop();
      stopStatistics();
      await runs.stop();
      await Promise.all([backups.stop(), endpointCommands.stop(), retention.stop()]);
    },
  };
}
