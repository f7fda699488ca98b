import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** A server of PostgreSQL of its own, on a socket in a folder of its own. */
export interface TestPostgres {
  /** Of its one database. */
  url: string;
  /** For Debian's own programs: where the socket lies. */
  socketDir: string;
  pid(): number;
  /** Ends it as a crash would, or politely, and starts it again. */
  restart(how: "crash" | "fast"): Promise<void>;
  /** Ends it as a crash would; `stop` follows. */
  kill(): Promise<void>;
  /** Makes a server that follows this one, which commits nothing from now on that it has not; one at a time. */
  replicate(at: Listen): Promise<TestReplica>;
  stop(): Promise<void>;
}

/** A server that follows another one and takes no writes. */
export interface TestReplica extends TestPostgres {
  /** Makes it a server of its own. */
  promote(): void;
}

/** Where a server listens for others than its own machine's programs; whoever comes is let in. */
export interface Listen {
  host: string;
  port: number;
}

/** How a server is made. */
export interface PostgresOptions {
  /** With all its promises: what is committed is on the disk. Off for tests, which lose nothing with a machine. */
  durable?: boolean;
  /** Its socket alone unless given. */
  listen?: Listen;
}

const STARTED_WITHIN_MS = 60_000;

/** Debian keeps the server's programs out of everybody's way. */
function programs(): string {
  const root = "/usr/lib/postgresql";
  const found = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const bin = found.map((version) => join(root, version, "bin")).find((folder) => existsSync(join(folder, "initdb")));
  if (!bin) throw new Error("PostgreSQL is not here: apt-get install postgresql");
  return bin;
}

/** It refuses to run as root. */
function owner(): { uid?: number; gid?: number; name: string } {
  if (process.getuid?.() !== 0) return { name: userInfo().username };
  const [uid, gid] = ["-u", "-g"].map((what) => Number(execFileSync("id", [what, "postgres"], { encoding: "utf8" })));
  return { uid: uid as number, gid: gid as number, name: "postgres" };
}

/** A folder that the server's programs may write to, and how they are run there. */
function makeHome() {
  const { name, ...as } = owner();
  const root = mkdtempSync(join(tmpdir(), "carillon-pg-"));
  const dataDir = join(root, "data");
  mkdirSync(dataDir, { mode: 0o700 });
  if (as.uid !== undefined) for (const folder of [root, dataDir]) chownSync(folder, as.uid, as.gid as number);
  return { name, root, dataDir, bin: programs(), run: { ...as, cwd: root, stdio: "ignore" } as const };
}

type Home = ReturnType<typeof makeHome>;

/** Makes a server, which takes a second or two; stop it before the process ends. */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const home = makeHome();
  const asked = ["--no-sync", "--no-instructions", "--auth=trust", `--username=${home.name}`];
  execFileSync(join(home.bin, "initdb"), ["-D", home.dataDir, ...asked, "--locale=C", "--encoding=UTF8"], home.run);
  if (options.listen) {
    const anybody = ["all", "replication"].map((what) => `host ${what} all samenet trust\n`);
    appendFileSync(join(home.dataDir, "pg_hba.conf"), anybody.join(""));
  }
  return runServer(home, options);
}

async function runServer(home: Home, { durable = false, listen }: PostgresOptions): Promise<TestPostgres> {
  const { bin, name, root, dataDir, run } = home;
  const settings = [
    ...[`listen_addresses=${listen?.host ?? ""}`, `port=${listen?.port ?? 5432}`, `unix_socket_directories=${root}`],
    ...["max_connections=60", "shared_buffers=64MB", "wal_retrieve_retry_interval=200ms"],
    ...(durable ? [] : ["fsync=off", "full_page_writes=off"]),
  ].flatMap((each) => ["-c", each]);
  let server: ChildProcess;

  async function start(): Promise<void> {
    server = spawn(join(bin, "postgres"), ["-D", dataDir, ...settings], run);
    for (let waited = 0; !(await answers()); waited += 25) {
      if (server.exitCode !== null || waited > STARTED_WITHIN_MS) throw new Error("PostgreSQL did not start");
      await pause(25);
    }
  }

  /** As libpq asks whether a server is there: a packet that it answers before anybody says who they are. */
  function answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(join(root, `.s.PGSQL.${listen?.port ?? 5432}`));
      const end = (answer: boolean): void => {
        socket.destroy();
        resolve(answer);
      };
      const hello = Buffer.from(`\0\0\0\0\0\x03\0\0user\0${name}\0database\0postgres\0\0`, "latin1");
      hello.writeInt32BE(hello.length);
      socket.on("error", () => end(false));
      socket.on("connect", () => socket.write(hello));
      // R: go on with logging in; E: not yet.
      socket.on("data", (said) => end(String.fromCharCode(said[0] as number) === "R"));
      socket.on("close", () => resolve(false));
    });
  }

  async function end(signal: "SIGINT" | "SIGQUIT"): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, "exit");
    server.kill(signal);
    await gone;
  }

  async function replicate(at: Listen): Promise<TestReplica> {
    const other = makeHome();
    const from = ["-h", root, "-p", String(listen?.port ?? 5432), "-U", name];
    execFileSync(join(bin, "pg_basebackup"), [...from, "-D", other.dataDir, "-R", "-c", "fast", "--no-sync"], run);
    const replica = await runServer(other, { durable: true, listen: at });
    // Once this one commits nothing without it, what the copy began with is there too.
    const say = ["-c", "ALTER SYSTEM SET synchronous_standby_names = '*'", "-c", "SELECT pg_reload_conf()"];
    execFileSync(join(bin, "psql"), [...from, "-d", "postgres", ...say], run);
    const promote = (): void => void execFileSync(join(bin, "pg_ctl"), ["promote", "-D", other.dataDir], run);
    return { ...replica, promote };
  }

  await start();
  const where = listen
    ? `${listen.host}:${listen.port}/postgres`
    : `localhost/postgres?host=${encodeURIComponent(root)}`;
  return {
    url: `postgres://${name}@${where}`,
    socketDir: root,
    pid: () => server.pid as number,
    async restart(how) {
      await end(how === "crash" ? "SIGQUIT" : "SIGINT");
      await start();
    },
    kill: () => end("SIGQUIT"),
    replicate,
    async stop() {
      await end("SIGQUIT");
      rmSync(root, { recursive: true, force: true });
    },
  };
}
