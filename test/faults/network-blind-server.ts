/** The planted bug `no-watch`: the daemon of `network-blind-server.js DATA CONFIG` does not notice that its network changes. */
import { createLog } from "../../src/lib/log.ts";
import { loadSettings } from "../../src/settings/load-settings.ts";
import { startDaemon } from "../../src/wiring/daemon.ts";

const [dataDir = "", config = ""] = process.argv.slice(2);
const daemon = await startDaemon({
  dataDir,
  listen: "127.0.0.1:0",
  settings: loadSettings(config),
  log: createLog({ level: "info", stream: { write: (line) => void process.stderr.write(line) } }),
  onFatal: () => process.exit(1),
  createNetworkWatch: () => ({ start: () => undefined, stop: () => undefined }),
});
process.stdout.write(`${JSON.stringify({ event: "ready", url: daemon.url, urls: daemon.urls })}\n`);
process.on("SIGTERM", () => void daemon.stop().then(() => process.exit(0)));
