import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/lib/clock.ts";
import { pollUntil } from "../../../src/lib/waits.ts";
import { extensionIdOf } from "../../../src/plugin-host/extension-rows.ts";
import { sendControlCommand } from "../../../src/wiring/control-socket.ts";
import type { Attack } from "./attack.ts";
import { type AttackWorld, control, isOk } from "./attack-world.ts";

/** From the folder of the product, as the build of this file is elsewhere. */
const HOSTILE = "test/plugins/hostile";
const ID = extensionIdOf("hostile");
/** Longest answer of the API while a plugin goes wrong, in ms. */
const MAX_ANSWER_MS = 3_000;

interface Tried {
  act: string;
  status: number;
  text: string;
}

/** Has the plugin try something. */
async function attempt({ ask }: AttackWorld, act: string, more: object = {}): Promise<Tried> {
  const { status, text } = await ask("POST", "//x/hostile/try", { json: { act, ...more } });
  return { act, status, text };
}

async function isRunning({ ask, first }: AttackWorld): Promise<boolean> {
  const { body } = await ask("GET", `/extensions/${ID}`, { token: first.token });
  return body?.status?.state === "running";
}

const untilRunning = (world: AttackWorld): Promise<true | null> =>
  pollUntil(systemClock, async () => ((await isRunning(world)) ? true : null), { timeoutMs: 20_000, intervalMs: 50 });

/** Installs the hostile plugin and starts it, as an administrator would who was talked into it. */
async function install(world: AttackWorld): Promise<void> {
  const { dataDir, ask, first } = world;
  if (!existsSync(join(dataDir, "plugins", "hostile"))) {
    cpSync(HOSTILE, join(dataDir, "plugins", "hostile"), { recursive: true });
    mkdirSync(join(dataDir, "plugin-data", "other"), { recursive: true });
    writeFileSync(join(dataDir, "plugin-data", "other", "state"), "other");
    await sendControlCommand(dataDir, { order: "plugin.takeUp", args: {} });
    await ask("PUT", `/extensions/${ID}`, { token: first.token, json: { disabled: false } });
  }
  await untilRunning(world);
}

/** Counts what was refused; what was not is a gain. */
async function tryActs(world: AttackWorld, acts: readonly (readonly [act: string, more?: object])[]) {
  await install(world);
  const tried: Tried[] = [];
  for (const [act, more] of acts) tried.push(await attempt(world, act, more));
  const refused = tried.filter(({ status }) => status === 403);
  const gains = tried
    .filter(({ status }) => status !== 403)
    .map(({ act, status, text }) => `${act}: ${status} ${text.slice(0, 80)}`);
  const works = await attempt(world, "pid");
  const reasons = [...new Set(refused.map(({ text }) => text.split(":")[0] ?? ""))].join(", ");
  return {
    answered: `${refused.length} of ${tried.length} refused (${reasons})`,
    gains: [...gains, ...control(isOk(works), `the plugin does not work: ${works.status}`)],
  };
}

async function openFiles(world: AttackWorld) {
  const { dataDir } = world;
  await install(world);
  const files = ["carillon.db", "secret-key", "settings.yaml", "plugin-data/other/state"].map((name) =>
    join(dataDir, name),
  );
  const before = files.map((file) => (file.endsWith(".db") ? "" : readFileSync(file, "utf8")));
  const acts = [
    ...["read", "read as bytes", "read a file URL", "read by a promise", "open a stream", "copy", "link", "symlink"],
    ...["import", "require", "write", "append", "remove", "rename", "chmod", "open with sqlite", "load sqlite inside"],
    ...["engine flags that write files", "a heap snapshot", "a report", "change the current folder", "write traces"],
    ...["write snapshots of the heap"],
  ];
  const result = await tryActs(
    world,
    files.flatMap((path) => acts.map((act) => [act, { path }] as const)),
  );
  const after = files.map((file) => (file.endsWith(".db") ? "" : readFileSync(file, "utf8")));
  const changed = files.filter((_, index) => before[index] !== after[index]);
  return { ...result, gains: [...result.gains, ...changed.map((file) => `changed ${file}`)] };
}

async function connectAnywhere(world: AttackWorld) {
  const { url, attackerUrl, dataDir, caught, ask, first } = world;
  await install(world);
  const api = Number(new URL(url).port);
  const port = Number(new URL(attackerUrl).port);
  const before = caught.length;
  const acts = [
    ...[
      "connect",
      "connect by another class",
      "connect with a look-up of its own",
      "connect after replacing what checks",
    ],
    ...["fetch", "fetch of the interface", "http request", "http2", "WebSocket", "datagram", "connected datagram"],
  ];
  const hosts = [
    ...[
      { host: "127.0.0.1", port: api },
      { host: "localhost", port: api },
      { host: "::ffff:127.0.0.1", port: api },
    ],
    ...[
      { host: "127.0.0.2", port: api },
      { host: "127.66.66.66", port },
      { host: "169.254.169.254", port: 80 },
    ],
    ...[
      { host: "fd00:ec2::254", port: 80 },
      { host: "203.0.113.1", port: 443 },
    ],
  ];
  const socket = ["control.sock", "control"].map((name) => ["unix socket", { path: join(dataDir, name) }] as const);
  const names = ["look up a name", "look up a name by a promise", "ask the name server", "listen"].map(
    (act) => [act] as const,
  );
  const result = await tryActs(world, [
    ...hosts.flatMap((target) => acts.map((act) => [act, target] as const)),
    ...[...socket, ...names, ["ask a name server", { port }] as const, ["listen at a unix socket"] as const],
  ]);
  const reached = caught.length > before ? [`${caught.length - before} requests reached a server`] : [];
  // What an administrator sets is reached.
  await ask("PUT", `/extensions/${ID}`, { token: first.token, json: { config: { server: attackerUrl } } });
  await untilRunning(world);
  const set = await pollUntil(
    systemClock,
    async () => (isOk(await attempt(world, "fetch", { host: "127.66.66.66", port })) ? true : null),
    { timeoutMs: 10_000, intervalMs: 100 },
  );
  return { ...result, gains: [...result.gains, ...reached, ...control(set === true, "it does not reach its setting")] };
}

/** Each ends the plugin, which the daemon starts again; meanwhile the API answers. */
async function harmDaemon(world: AttackWorld) {
  const { ask, first } = world;
  await install(world);
  const acts = [
    ...["flood", "flood with output", "flood with large messages", "write what is no message"],
    ...["announce a message of 4 GB", "write a short message that is none", "send a log line of no level"],
    ...["send outcomes that are none", "send an unknown kind", "answer with a header that is two", "fill the heap"],
    ...["fill buffers", "spin", "exit", "kill itself"],
  ];
  const gains: string[] = [];
  let longest = { ms: 0, act: "" };
  for (const act of acts) {
    await ask("POST", `/extensions/${ID}/restart`, { token: first.token });
    await untilRunning(world);
    const { text: pid } = await attempt(world, "pid");
    void attempt(world, act);
    const isGone = await pollUntil(
      systemClock,
      async () => {
        const began = systemClock.monotonicMs();
        const { status } = await ask("GET", "/session", { token: first.token });
        const ms = Math.round(systemClock.monotonicMs() - began);
        if (ms > longest.ms) longest = { ms, act };
        if (status !== 200) gains.push(`${act}: the API answered ${status}`);
        return existsSync(`/proc/${pid}`) ? null : true;
      },
      { timeoutMs: 20_000, intervalMs: 50 },
    );
    if (!isGone) gains.push(`${act}: it runs on`);
  }
  const slowest = `${longest.ms} ms (${longest.act})`;
  if (longest.ms > MAX_ANSWER_MS) gains.push(`the API took ${slowest}`);
  return { answered: `ended ${acts.length} times; the API answered within ${slowest}`, gains };
}

const each = (...acts: string[]): [string][] => acts.map((act) => [act]);

export const PLUGIN_ATTACKS: readonly Attack[] = [
  {
    by: "plugin",
    what: "reads and changes the database, the secret key, the settings and data of another plugin, in 23 ways",
    run: openFiles,
  },
  {
    by: "plugin",
    what: "starts programs, threads and native code, and opens the debugger",
    run: (world) =>
      tryActs(
        world,
        each(
          ...["spawn", "exec", "fork", "fork a cluster", "execve", "worker", "addon", "require an addon", "binding"],
          ...["linked binding", "wasi", "inspector", "inspector session"],
        ),
      ),
  },
  {
    by: "plugin",
    what: "reads the environment, memory and files of the daemon, kills it, debugs it and slows it down",
    run: (world) =>
      tryActs(
        world,
        each(
          ...[
            "the environment of the daemon",
            "the memory of the daemon",
            "the files of the daemon",
            "kill the daemon",
          ],
          ...["kill the daemon, raw", "signal the debugger of the daemon", "debug the daemon", "slow the daemon down"],
          ...["kill by a child's handle"],
        ),
      ),
  },
  {
    by: "plugin",
    what: "connects to the API, to metadata addresses and to what it does not declare (plugin network)",
    run: connectAnywhere,
  },
  {
    by: "plugin",
    what: "floods the daemon, sends it malformed messages, fills the memory and spins",
    run: harmDaemon,
  },
];
