import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unusedPort } from "../free-port.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";

/** An SNMP version 3 user of the agents. */
export interface SnmpUser {
  name: string;
  authentication: "MD5" | "SHA" | "SHA-256" | "SHA-512";
  encryption: "AES" | "AES-256" | "DES";
  authPassword: string;
  encryptPassword: string;
}

/** Real agents (net-snmp's snmpd), one per node on addresses of its own. */
export interface SnmpPeer {
  port: number;
  nodes: readonly string[];
  /** Lets the agents tell what the cluster knows now. */
  refresh(): void;
  /** Stops answering, or goes on. */
  freeze(node: number, frozen: boolean): void;
  close(): Promise<void>;
}

/** Community of version 2. */
export const COMMUNITY = "campus-4711";

/** A phone's columns as snmpd asks for them, in order of their names. */
const TABLE = "1.3.6.1.4.1.9.9.156.1.2.1.1";

/** Answers snmpd line by line; the rows lie in a file that it reads again when it was changed. */
const PASS_PERSIST = `
const { readFileSync, statSync } = require("node:fs");
const { createInterface } = require("node:readline");
const base = "." + ${JSON.stringify(TABLE)};
const info = ".1.3.6.1.4.1.9.9.156.1.5.";
const columns = [7, 8, 20, 21];
let rows = [], state = 0, mtime = 0;
function load() {
  const now = statSync(process.argv[2]).mtimeMs;
  if (now === mtime) return;
  mtime = now;
  ({ rows, state } = JSON.parse(readFileSync(process.argv[2], "utf8")));
}
function cell(column, at) {
  const [status, name, address] = rows[at];
  const oid = base + "." + column + "." + (at + 1);
  if (column === 7) return [oid, "integer", String(status)];
  if (column === 8) return [oid, "octet", "07 EA 01 0C 08 00 00 00"];
  if (column === 20) return [oid, "string", name];
  return [oid, "octet", address.split(".").map((part) => Number(part).toString(16).padStart(2, "0")).join(" ")];
}
const scalars = () => [[info + "20.0", "octet", "07 EA 01 01 08 00 00 00"], [info + "21.0", "integer", String(state)]];
function get(oid) {
  load();
  const scalar = scalars().find(([name]) => name === oid);
  if (scalar) return scalar;
  const [, column, index] = /^\\.(\\d+)\\.(\\d+)$/.exec(oid.slice(base.length)) ?? [];
  if (!oid.startsWith(base) || !columns.includes(Number(column)) || index < 1 || index > rows.length) return null;
  return cell(Number(column), index - 1);
}
function next(oid) {
  load();
  const after = oid.startsWith(base) ? oid.slice(base.length + 1).split(".").map(Number) : null;
  if (after) {
    const [column = 0, index = 0] = after;
    const exact = columns.indexOf(column);
    if (exact >= 0 && index < rows.length) return cell(column, index);
    const higher = columns.find((each) => each > column);
    if (higher !== undefined && rows.length > 0) return cell(higher, 0);
    return scalars()[0];
  }
  if (compare(oid, base) < 0) return rows.length > 0 ? cell(7, 0) : scalars()[0];
  return scalars().find(([name]) => compare(oid, name) < 0) ?? null;
}
function compare(a, b) {
  const [x, y] = [a, b].map((text) => text.split(".").slice(1).map(Number));
  for (let at = 0; at < Math.max(x.length, y.length); at++) {
    const difference = (x[at] ?? -1) - (y[at] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}
let command = null;
createInterface({ input: process.stdin }).on("line", (line) => {
  if (line === "PING") return void process.stdout.write("PONG\\n");
  if (command === null) return void (command = line);
  const found = command === "get" ? get(line) : command === "getnext" ? next(line) : null;
  command = null;
  process.stdout.write(found ? found.join("\\n") + "\\n" : "NONE\\n");
});
`;

/** Starts an agent for each of two nodes of `cluster`. Throws when snmpd does not begin to answer. */
export async function startSnmpPeer(cluster: SimulatedCluster, users: readonly SnmpUser[] = []): Promise<SnmpPeer> {
  const nodes = ["127.0.0.2", "127.0.0.3"];
  const folder = mkdtempSync(join(tmpdir(), "carillon-cluster-"));
  const script = join(folder, "pass-persist.cjs");
  writeFileSync(script, PASS_PERSIST);
  const port = await unusedPort();
  let state = 0;
  const refresh = (): void => {
    state += 1;
    nodes.forEach((_node, at) => {
      const rows = [...cluster.phones.values()]
        .filter((phone) => phone.node === at)
        .map(({ name, registered, address }) => [registered ? 2 : 3, name, address]);
      const file = join(folder, `rows-${at}.json`);
      writeFileSync(`${file}.new`, JSON.stringify({ rows, state }));
      renameSync(`${file}.new`, file);
    });
  };
  refresh();
  const agents: ChildProcess[] = [];
  for (const [at, node] of nodes.entries()) agents.push(startAgent(folder, script, at, `udp:${node}:${port}`, users));
  await Promise.all(agents.map((agent) => once(agent.stderr as NodeJS.ReadableStream, "data")));
  return {
    ...{ port, nodes, refresh },
    freeze: (node, frozen) => void agents[node]?.kill(frozen ? "SIGSTOP" : "SIGCONT"),
    async close() {
      await Promise.all(
        agents.map(async (agent) => {
          const gone = agent.exitCode === null ? once(agent, "exit") : null;
          agent.kill("SIGKILL");
          await gone;
        }),
      );
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function startAgent(
  folder: string,
  script: string,
  at: number,
  address: string,
  users: readonly SnmpUser[],
): ChildProcess {
  const own = join(folder, `agent-${at}`);
  mkdirSync(own);
  const config = join(own, "snmpd.conf");
  writeFileSync(
    config,
    [
      `agentaddress ${address}`,
      `rocommunity ${COMMUNITY}`,
      ...users.flatMap(({ name, authentication, encryption, authPassword, encryptPassword }) => [
        `createUser ${name} ${authentication} "${authPassword}" ${encryption} "${encryptPassword}"`,
        `rouser ${name} priv`,
      ]),
      `pass_persist .1.3.6.1.4.1.9.9.156 ${process.execPath} ${script} ${join(folder, `rows-${at}.json`)}`,
      "",
    ].join("\n"),
  );
  // The parent must not wait for what the agent writes: it says little.
  return spawn("snmpd", ["-f", "-Le", "-C", "-c", config], {
    env: { ...process.env, SNMP_PERSISTENT_DIR: own, MIBS: "" },
    stdio: ["ignore", "ignore", "pipe"],
  });
}
