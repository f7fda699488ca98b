import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { createLog, silentLog } from "../../src/lib/log.ts";
import type { HealthSource } from "../../src/ops/health/health.ts";
import type { SettingsFile } from "../../src/ops/settings-report.ts";
import type { AnyResource } from "../../src/schema/resource.ts";
import { parseSettings } from "../../src/settings/load-settings.ts";
import { type Daemon, startDaemon } from "../../src/wiring/daemon.ts";
import { type InitialData, initAppliance } from "../../src/wiring/init.ts";
import { LOOPBACK_SETTINGS } from "./carillon-process.ts";
import { makeTempDir } from "./temp-dir.ts";
import { UNCHECKED_PASSWORDS } from "./unchecked-passwords.ts";

/** An answer of the API; `body` is the JSON, or the text where it is none. */
export interface ApiResult<T> {
  status: number;
  headers: Headers;
  body: T;
}

/** The real daemon in the test's own process, with a data directory of its own. */
export interface TestDaemon extends Daemon {
  readonly dataDir: string;
  readonly first: InitialData;
  /** Calls the API below /api/v1 as the administrator, or as the holder of `token`; a FormData is sent as multipart. */
  call<T = Record<string, unknown>>(method: string, path: string, body?: object, token?: string): Promise<ApiResult<T>>;
}

/** The administrator of test daemons. */
export const TEST_ADMIN = { email: "admin@example.org", password: "correct horse battery" };

/** How a test daemon differs from the usual. */
export interface TestDaemonOptions {
  /** YAML; the loopback settings unless given. */
  settings?: string;
  settingsFile?: SettingsFile;
  declarations?: readonly AnyResource[];
  /** Takes every line of the log at level debug. */
  onLog?(line: string): void;
  /** An earlier test daemon, stopped meanwhile, whose data is used again. */
  after?: Pick<TestDaemon, "dataDir" | "first">;
  /** Told of an ordered restart. */
  onRestart?(): void;
  /** `HOST:PORT`; a free port of 127.0.0.1 unless given. */
  listen?: string;
  /** The cloud of an organisation. */
  isHub?: boolean;
  clock?: Clock;
  /** What was wrong before it. */
  source?: HealthSource;
  /** Changes the new data before the daemon starts on it. */
  prepare?(dataDir: string): void;
}

/** Starts a daemon on a free port of 127.0.0.1; the test stops it. */
export async function startTestDaemon(options: TestDaemonOptions = {}): Promise<TestDaemon> {
  const dataDir = options.after?.dataDir ?? makeTempDir();
  const first =
    options.after?.first ??
    (await initAppliance(dataDir, TEST_ADMIN, options.clock ?? systemClock, UNCHECKED_PASSWORDS));
  options.prepare?.(dataDir);
  const daemon = await startDaemon({
    dataDir,
    listen: options.listen ?? "127.0.0.1:0",
    settings: parseSettings(options.settings ?? LOOPBACK_SETTINGS),
    log: options.onLog ? createLog({ level: "debug", stream: { write: options.onLog } }) : silentLog,
    ...(options.settingsFile ? { settingsFile: options.settingsFile } : {}),
    ...(options.declarations ? { declarations: options.declarations } : {}),
    ...(options.isHub ? { isHub: true } : {}),
    ...(options.clock ? { clock: options.clock } : {}),
    ...(options.source ? { source: options.source } : {}),
    onFatal: (error) => {
      throw error;
    },
    ...(options.onRestart ? { onRestart: options.onRestart } : {}),
  });
  return { ...daemon, dataDir, first, call: apiCaller(daemon.url, first.token) };
}

/** Calls the API of a daemon wherever it runs; see `TestDaemon.call`. */
function apiCaller(url: string, adminToken: string): TestDaemon["call"] {
  return async <T>(method: string, path: string, body?: object, token = adminToken): Promise<ApiResult<T>> => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    const isForm = body instanceof FormData;
    if (body && !isForm) headers["content-type"] = "application/json";
    const payload = body ? { body: isForm ? body : JSON.stringify(body) } : {};
    const response = await fetch(`${url}/api/v1${path}`, { method, headers, ...payload });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : text) as T };
  };
}
