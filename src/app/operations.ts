import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { invalidValue } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import type { Health, HealthSource } from "../health/health.ts";
import { cronSchedule } from "../loaders/cron.ts";
import { type BackupsReport, createBackups } from "../operations/backups.ts";
import { type CertificateDesk, createCertificateDesk } from "../operations/certificate-desk.ts";
import type { DaemonState } from "../operations/doctor.ts";
import { createEndpointOrders, type OrderType, type OrderWork } from "../operations/endpoint-orders.ts";
import { callOutside, createHeartbeat } from "../operations/heartbeat.ts";
import { createLicence, type Licence } from "../operations/licence.ts";
import { bundleName, collectLogs, thinOutBundles } from "../operations/log-bundle.ts";
import { OPERATION_MARKS } from "../operations/marks.ts";
import { createOrderedUpgrade, offerUpgrade } from "../operations/ordered-upgrade.ts";
import { createRuns, OPERATION_RUNS, type Runs } from "../operations/runs.ts";
import { reportSettings, type SettingsFile, type SettingsReport } from "../operations/settings-report.ts";
import { createSupervision, systemdTell, watchdogMsOf } from "../operations/supervision.ts";
import { versionsRoot } from "../operations/upgrade-order.ts";
import { readIdentity } from "../replication/identity/own-identity.ts";
import type { Settings } from "../settings/schema.ts";
import type { ApplianceData } from "./appliance.ts";
import { createBackupOrders } from "./backup-orders.ts";
import type { Order } from "./orders.ts";
import { ownVersion } from "./version.ts";

/** Tables of the room `operations`. */
export const OPERATION_TABLES = [OPERATION_MARKS, OPERATION_RUNS];

/** What keeps the appliance itself in order. */
export interface OperationNeeds {
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
  rebuildPhones: OrderWork;
  /** Test broadcasts are not heard. */
  isSilent(): boolean;
}

/** Backups, and orders to the appliance. */
export interface Operations {
  /** What of it is not as it should be. */
  source: HealthSource;
  licence: Licence;
  /** What of it is shown. */
  upkeep: { settings(): Promise<SettingsReport>; backups(): Promise<BackupsReport>; certificate: CertificateDesk };
  /** Runs of the daemon, and how they ended. */
  runs: Pick<Runs, "last">;
  /** What commands may order of it. */
  orders: Readonly<Record<string, Order>>;
  /** Tells systemd, where it started the process, that messages can be sent, and from then on that it lives. */
  ready(): void;
  /** `report` is how the appliance is, `url` where it is reached, `listen` the HOST:PORT that it was started with. */
  start(running: { reload(): Promise<void>; report: Health["report"]; url: string; listen: string }): Promise<void>;
  stop(): Promise<void>;
}

/** own choice: nobody reads more at once */
const MOST_RUNS = 1_000;

/** Carried out by the link of an appliance that has one. */
const OF_LINK: readonly OrderType[] = ["device-sync", "full-resync", "replication-queue-reset", "replication-clean-up"];

/** Makes them; nothing runs before `start`. */
export function createOperations(needs: OperationNeeds): Operations {
  const { dataDir, settings, data, clock, events, log, endpointId } = needs;
  const { store, access } = data;
  const common = { store, clock, events, log, endpointId };
  const version = ownVersion();
  const backups = createBackups({ ...common, dataDir, version, settings: settings.backups, schedule: cronSchedule });
  let supervision: ReturnType<typeof createSupervision> | null = null;
  let running: Parameters<Operations["start"]>[0] | null = null;
  const state = (): DaemonState => {
    const { status = "GREEN", reasons = [] } = running?.report() ?? {};
    return { version, url: running?.url ?? "", ...(running && { listen: running.listen }), status, reasons };
  };
  const reload = async (): Promise<void> => running?.reload();
  const licence = createLicence({ ...common, keys: settings.trust.licences });
  const isWell = (): boolean => state().status !== "RED";
  const heartbeat = createHeartbeat({ clock, log, settings: settings.heartbeat, isWell, call: callOutside });
  const runs = createRuns({ store, clock, dataDir, version });
  const trusted = { store, keys: settings.trust.upgrades };
  const upgrade = createOrderedUpgrade({
    ...trusted,
    dataDir,
    version,
    clock,
    root: versionsRoot(process.argv[1] ?? ""),
  });
  const orders = createEndpointOrders({
    ...common,
    by: access.systemBy("operations"),
    does: {
      "phone-cache-rebuild": needs.rebuildPhones,
      upgrade,
      // Plugins come with the version.
      "upgrade-all": upgrade,
      backup: async () => {
        const { path, bytes, manifest } = await backups.take();
        return { file: path, bytes, files: manifest.files.length, takenAt: manifest.takenAt };
      },
      "collect-logs": async () => {
        const folder = join(dataDir, "bundles");
        const file = join(folder, bundleName(clock.now()));
        const { bytes } = await collectLogs(dataDir, file, { settings, state: state() });
        thinOutBundles(folder);
        return { file, bytes };
      },
    },
    unknown: readIdentity(dataDir) ? [] : OF_LINK,
    mayRestart: async () => void (await needs.settingsFile?.read()),
    restart: () => needs.onRestart?.(),
  });
  return {
    source: () => [...backups.source(), ...runs.source(), ...heartbeat.source()],
    licence,
    upkeep: {
      settings: () => reportSettings(settings, needs.settingsFile ?? null),
      backups: backups.report,
      certificate: createCertificateDesk({ dataDir, clock, log, reload }),
    },
    runs,
    orders: {
      /** `{}`, for `install` `{document}` -> LicenceState. */
      "licence.show": async () => licence.state(),
      "licence.remove": () => licence.remove(),
      "licence.install": async ({ document }) => {
        if (typeof document !== "string") throw invalidValue("document", "It is a text.");
        return licence.install(document);
      },
      ...createBackupOrders(backups.take, clock),
      /** `{file}` -> OfferedUpgrade: appliances that are ordered to upgrade fetch it. */
      "upgrade.offer": ({ file }) => offerUpgrade(file, trusted),
      /** `{}` -> DaemonState. */
      state: async () => state(),
      /** `{}` -> Run[], the newest first. */
      runs: async () => runs.last(MOST_RUNS),
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
      await orders.start();
    },
    ready() {
      const tell = systemdTell(process.env, log);
      if (!tell) return;
      supervision = createSupervision({
        ...{ store, clock, log, tell, isSilent: needs.isSilent },
        watchdogMs: watchdogMsOf(process.env),
      });
      supervision.ready();
    },
    async stop() {
      supervision?.stop();
      licence.stop();
      heartbeat.stop();
      await runs.stop();
      await Promise.all([backups.stop(), orders.stop()]);
    },
  };
}
