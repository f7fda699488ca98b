import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { systemClock } from "../../../src/lib/clock.ts";
import { launchInProcess } from "../../../src/plugin-host/launch-in-process.ts";
import { linkPluginApi } from "../../../src/plugin-host/plugin-api-link.ts";

/** Runs the plugin at DIR/plugins/hostile, has it do ACT, and prints its process id: a host that a test kills. */
const [dataDir = "", act = ""] = process.argv.slice(2);
const plugins = pathToFileURL(`${join(dataDir, "plugins")}/`);
linkPluginApi(plugins);
const launch = launchInProcess({
  entry: new URL("hostile/index.js", plugins),
  dataFolder: join(dataDir, "plugin-data", "hostile"),
  memoryMb: 64,
  network: {},
  clock: systemClock,
  onLine: (line) => process.stderr.write(`${line}\n`),
});
const ask = (id: number, given: string) => {
  const body = new TextEncoder().encode(JSON.stringify({ act: given }));
  instance.send({
    kind: "request",
    id,
    request: { method: "POST", url: "/try", headers: {}, body, remoteAddress: "" },
  });
};
const ports = { hello: { host: "127.0.0.1", port: 0, publicUrl: null } };
const instance = launch(
  { plugin: "hostile", config: {}, ports, watches: [], allowedTargets: [], baseUrl: "", multicastInterface: null },
  {
    onMessage(message) {
      if (message.kind === "active") ask(1, "pid");
      if (message.kind !== "response") return;
      process.stdout.write(`${message.response.body}\n`);
      ask(2, act);
    },
    onEnd: (reason) => process.stderr.write(`${reason}\n`),
  },
);
