import { systemClock } from "../lib/clock.ts";
import type { CloudLink } from "./cloud-link.ts";
import type { DaemonOptions } from "./daemon-options.ts";
import { openFoundation } from "./foundation.ts";
import { type DaemonModule, startInOrder, stopInReverse } from "./lifecycle.ts";
import { createModules } from "./modules.ts";

/** A running appliance. */
export interface Daemon {
  /** Base URL of the main server; the API is at `<url>/api/v1`. */
  readonly url: string;
  /** Public URLs of the plugins' own ports: `{"ip-phones/auth": "http://…"}`. */
  readonly urls: Readonly<Record<string, string>>;
  /** The daemon's side of cloud links. */
  readonly cloudLink: CloudLink;
  /** Stops all modules in reverse order, within 5 s; may be called more than once. */
  stop(): Promise<void>;
}

/**
 * Starts the appliance in `dataDir`; resolves once messages can be sent. Throws UpstreamError (about the data directory) if
 * there is no appliance or another daemon uses it, CallerError for `listen`, Node's error for an address in use.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { clock = systemClock, log, dataDir } = options;
  const modules: DaemonModule[] = [];
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= stopInReverse(modules, clock, log);
    return stopping;
  };
  try {
    const foundation = await openFoundation(options, clock, modules);
    const { order, plugins, link, onReady } = createModules(foundation, options);
    modules.push(...order.flat());
    await startInOrder(order);
    const { url } = foundation.server;
    log.info({ event: "daemon.ready", url, urls: plugins.urls(), dataDir }, "ready");
    onReady();
    return { url, urls: plugins.urls(), cloudLink: link, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
