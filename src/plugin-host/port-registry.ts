import type { PluginPortSettings } from "./plugin-protocol.ts";

/** Where the own ports of one plugin are to listen, and which are open. */
export interface PortRegistry {
  /** By the names in the manifest. */
  settings(): Record<string, PluginPortSettings>;
  opened(name: string, url: string, port: number): void;
  /** The run has ended; `forget` lets the system choose anew where it may. */
  close(options: { forget: boolean }): void;
  /** Public URLs of the open ones. */
  readonly urls: Readonly<Record<string, string>>;
}

/** own choice: a port that nothing is said about listens on loopback. */
const DEFAULT_PORT: PluginPortSettings = { host: "127.0.0.1", port: 0, publicUrl: null };

/**
 * Keeps a plugin's ports. A port that the system chose is asked for again by the next run, since devices were told its
 * URL; it is given up when a run does not come up with it.
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
