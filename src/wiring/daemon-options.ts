import type { ClientAddressOf } from "../http/http-server.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { HealthSource } from "../ops/health/health.ts";
import type { SettingsFile } from "../ops/settings-report.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Settings } from "../settings/schema.ts";
import type { SharedLog } from "../store/shared-log.ts";
import type { CreateWatch } from "./network-monitor.ts";

export interface DaemonOptions {
  dataDir: string;
  /** `HOST:PORT`; port 0 takes a free port. */
  listen: string;
  settings: Settings;
  /** The settings file, if there is one. */
  settingsFile?: SettingsFile;
  log: Log;
  clock?: Clock;
  /** Default: the built-in declarations. */
  declarations?: readonly AnyResource[];
  /** A disk write failed: the process must exit with code 74. Called once. */
  onFatal: (error: unknown) => void;
  /** Runs as the cloud of an organisation, to which appliances link. */
  isHub?: boolean;
  /** Behind a gateway: real client address of a connection by its local port. */
  callerAt?: ClientAddressOf;
  /** Shared log of a cloud with several nodes. */
  shared?: SharedLog;
  /** Health reasons from before the daemon started, such as those of the replica. */
  source?: HealthSource;
  /** Reports turns of the event loop that are too long; the loop must be the daemon's alone. */
  guardsLoop?: boolean;
  /** Watches the machine's network; replaced where it must not change. */
  createNetworkWatch?: CreateWatch;
  /** A restart was requested: stop the daemon and start it again. */
  onRestart?: () => void;
}
