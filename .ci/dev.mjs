/**
 * `npm run dev`: a daemon that is rebuilt and restarted when a source changes, and the console with hot reload. The data of a
 * small demo school lie in .dev/data and are kept; remove the folder to start over. Ctrl-C ends everything.
 * `npm run dev -- --listen 127.0.0.1:8090 --console-port 5180 --folder FOLDER` for a second one beside it.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { env, execPath, exit, stdout } from "node:process";
import { parseArgs } from "node:util";
import { copyManifests } from "./setup/build.mjs";
import { bundle } from "./setup/bundle.mjs";
import { onFittingNode } from "./setup/runtime.mjs";
import { root } from "./setup/tree.mjs";
import { setUp } from "./setup.mjs";

const { values: options } = parseArgs({
  options: {
    folder: { type: "string", default: join(root, ".dev") },
    listen: { type: "string", default: "127.0.0.1:8080" },
    "console-port": { type: "string", default: "5173" },
  },
});
const DAEMON = `http://${options.listen}`;
const CONSOLE_PORT = Number(options["console-port"]);
const ADMIN = { email: "admin@example.org", password: "timetable-dev" };
const data = join(options.folder, "data");
const tokenFile = join(options.folder, "token");
const settings = join(options.folder, "carillon.yaml");
/** A bundle without packages, quickly made; below the tree, so that its packages are found. */
const OUT = ".dev/dist";
/** Several files are saved at once by editors and by git. */
const SETTLE_MS = 100;

/** @param {string} line */
const say = (line) => void stdout.write(`dev: ${line}\n`);

await onFittingNode();
if (setUp()) exit(1);
mkdirSync(options.folder, { recursive: true });
if (!(await bundleSources())) exit(1);
// What the daemon serves of the tree lies where the bundle looks for it.
link("docs", "docs");
link("dist/console", "dist/console");
if (!existsSync(settings)) writeFileSync(settings, "network:\n  multicastInterface: 127.0.0.1\n");
const isNew = !existsSync(join(data, "carillon.db"));
if (isNew) await initialize();

/** @type {import("node:child_process").ChildProcess | null} */
let daemon = null;
await startDaemon();
if (isNew) await seed();
await serveConsole();
watchSources();
say(`console http://localhost:${CONSOLE_PORT}  log in as ${ADMIN.email} with ${ADMIN.password}`);
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
  // vite's would end this process at once and leave the daemon behind.
  process.removeAllListeners(signal);
  process.on(signal, async () => {
    await stopDaemon();
    exit(0);
  });
}

/** False when a source can't be read; the reason is told. */
async function bundleSources() {
  try {
    await bundle(root, "main", { out: OUT, packages: false });
    copyManifests(root, OUT);
    return true;
  } catch (error) {
    say(/** @type {Error} */ (error).message);
    return false;
  }
}

/**
 * @param {string} target
 * @param {string} name
 */
function link(target, name) {
  const place = join(root, ".dev", name);
  if (!existsSync(place)) symlinkSync(join(root, target), place);
}

async function initialize() {
  const args = ["init", "--data", data, "--admin-email", ADMIN.email, "--json"];
  const made = await output(args, { ...env, CARILLON_ADMIN_PASSWORD: ADMIN.password });
  writeFileSync(tokenFile, JSON.parse(made).token, { mode: 0o600 });
}

/** Node runs the sources as they are: what the demo school consists of is written once. */
async function seed() {
  const { createDemoSchool } = await import("../src/tools/demo/demo-school.ts");
  const { createApiClient } = await import("../src/api-client/api-client.ts");
  await createDemoSchool(createApiClient(DAEMON, readFileSync(tokenFile, "utf8")));
}

/** Resolves when the daemon serves requests. */
function startDaemon() {
  const args = ["serve", "--data", data, "--listen", new URL(DAEMON).host, "--config", settings];
  const child = spawn(execPath, ["--enable-source-maps", join(root, OUT, "src/main.js"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  daemon = child;
  return new Promise((ready) => {
    child.stdout.once("data", () => ready(undefined));
    child.once("exit", (code) => {
      if (daemon === child) say(`the daemon exited with ${code}; waiting for a change`);
      ready(undefined);
    });
  });
}

function stopDaemon() {
  const child = daemon;
  daemon = null;
  if (!child || child.exitCode !== null) return Promise.resolve();
  const ended = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  return ended;
}

function watchSources() {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  let work = Promise.resolve();
  const changed = (/** @type {string | null} */ name) => {
    if (!name || !/\.(ts|json)$/.test(name) || name.startsWith(join("console", "web"))) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      work = work.then(restart);
    }, SETTLE_MS);
  };
  for (const folder of ["src", "plugins"]) watch(join(root, folder), { recursive: true }, (_, name) => changed(name));
}

async function restart() {
  const began = performance.now();
  if (!(await bundleSources())) return say("there are errors in the sources; waiting for a change");
  await stopDaemon();
  await startDaemon();
  say(`restarted after ${((performance.now() - began) / 1_000).toFixed(1)} s`);
}

async function serveConsole() {
  const { createServer } = await import("vite");
  /** The daemon checks where requests come from. @type {import("vite").ProxyOptions} */
  const proxy = {
    target: DAEMON,
    changeOrigin: true,
    ws: true,
    configure(server) {
      server.on("proxyReq", (request) => void (request.getHeader("origin") && request.setHeader("origin", DAEMON)));
      server.on("proxyReqWs", (request) => void request.setHeader("origin", DAEMON));
    },
  };
  const server = await createServer({
    configFile: join(import.meta.dirname, "vite.config.ts"),
    server: {
      host: "127.0.0.1",
      port: CONSOLE_PORT,
      strictPort: true,
      // Sources of the console lie in a folder of the same name: they are vite's.
      proxy: { "^/api/(?!.*\\.tsx?(?:\\?|$))": proxy, "^/(?:x|help)(?:/|\\?|$)": proxy },
    },
  });
  await server.listen();
}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Promise<string>}
 */
function output(args, environment) {
  const child = spawn(execPath, [join(root, OUT, "src/main.js"), ...args], {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (part) => {
    text += part;
  });
  return new Promise((done) => child.once("exit", (code) => (code === 0 ? done(text) : exit(1))));
}
