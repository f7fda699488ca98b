import type { PluginPortSettings } from "./plugin-protocol.ts";

/** Listen settings and open ports of one plugin. */
export interface PortRegistry {
  settings(): Record<string, PluginPortSettings>;
  opened(name: string, url: string, port: number): void;
  /** The run ended; `forget` drops ports chosen by the system. */
  close(options: { forget: boolean }): void;
  /** Public URLs of open ports. */
  readonly urls: Readonly<Record<string, string>>;
}

/** A port without settings listens on loopback. */
const DEFAULT_PORT: PluginPortSettings = { host: "127.0.0.1", port: 0, publicUrl: null };

/**
 * Creates the registry. A port chosen by the system is reused by the next run, because devices know its URL; it is
 * dropped if a run fails to start with it.
 */
export function createPortRegistry(
  given: Readonly<Record<string, PluginPortSettings>>,
  names: readonly string[],
): PortRegistry {
  let chosen: Record<string, number> = {};
  let urls: Record<string, string> = {};
  return {
    settings: () =>
      Object.fromEntries(
        names.map((name) => {
          const setting = given[name] ?? DEFAULT_PORT;
          return [name, { ...setting, port: setting.port || (chosen[name] ?? 0) }];
        }),
      ),
    opened(name, url, port) {
      if (!names.includes(name)) return;
      urls[name] = url;
      chosen[name] = port;
    },
    close({ forget }) {
      urls = {};
      if (forget) chosen = {};
    },
    get urls() {
      return urls;
    },
  };
}
