import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";

/** The networks of a field: of the zones (and of whoever watches), to the cloud, and of the appliances among themselves. */
export const NETWORKS = ["zones", "wan", "lan"] as const;

/** One of them. */
export type NetworkName = (typeof NETWORKS)[number];

/** A machine's way into a network. What is cut vanishes without a word; the link itself stays up. */
export interface NetworkLink {
  /** Nothing comes in or goes out. */
  cut(): void;
  /** What goes out vanishes; what comes in arrives. */
  mute(): void;
  /** So many kbit/s in each direction. */
  slow(kbits: number): void;
  /** As it was in the beginning. */
  heal(): void;
  /** Bytes that have come in so far. */
  came(): number;
}

/** A machine with a network of its own. */
export interface NetworkNamespace {
  name: string;
  /** Words before a command that is to run there. */
  inside: readonly string[];
  address: Readonly<Record<NetworkName, string>>;
  line(network: NetworkName): NetworkLink;
}

/** Several machines, joined by three networks. */
export interface NetworkField {
  /** This process's own address on the network of the zones. */
  own: string;
  place(name: string): NetworkNamespace;
}

const MARK = "CARILLON_OWN_NETWORK";
const OWN_HOST = 254;
const NOBODY = "02:00:00:00:00:fe";
const BURST_BYTES = 8_192;

/**
 * Runs this very command again where networks, mounts and processes are its own, so that nothing of them outlives it, and
 * gives its exit code; null where that has happened already. Without root it asks for a user namespace.
 * Throws an Error that says what to do where the machine has neither.
 */
export async function reexecInNamespace(): Promise<number | null> {
  if (process.env[MARK] === "1") {
    // The first process of a namespace is ended by no signal that it does not take.
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
    return null;
  }
  const asRoot = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const own = [...asRoot, "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child=KILL"];
  try {
    execFileSync("unshare", [...own, "true"], { stdio: "pipe" });
    ip("-V");
  } catch {
    throw new Error(
      "This needs network namespaces: run it as root, with Debian's util-linux and iproute2. Without them, " +
        "`npm run sim` and `npm run faults -- failover` show the same in virtual time.",
    );
  }
  const again = [...own, process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const child = spawn("unshare", again, { stdio: "inherit", env: { ...process.env, [MARK]: "1" } });
  const end = (): void => void child.kill("SIGKILL");
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, end);
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + constants.signals[signal ?? "SIGKILL"];
}

/** Makes the networks, with nobody in them but this process; only where `inOwnNetwork` gave null. */
export function createNetworkField(): NetworkField {
  // Names of namespaces are files there; they must not be the machine's.
  execFileSync("mount", ["-t", "tmpfs", "none", "/run"]);
  mkdirSync("/run/netns");
  ip("link set lo up");
  for (const network of NETWORKS) {
    ip(`link add ${network} type bridge mcast_snooping 0`);
    ip(`link set ${network} up`);
  }
  const own = addressOf("zones", OWN_HOST);
  ip(`addr add ${own}/24 dev zones`);
  const hosts: number[] = [];
  return {
    own,
    place(name) {
      const host = hosts.length + 1;
      hosts.push(host);
      ip(`netns add ${name}`);
      ip(`-n ${name} link set lo up`);
      for (const network of NETWORKS) join(name, network, host);
      const others = (): number[] => hosts.filter((each) => each !== host);
      // What was cut by one is healed by another.
      const lines = new Map(NETWORKS.map((network) => [network, lineOf(name, network, others)]));
      return {
        name,
        inside: ["nsenter", `--net=/run/netns/${name}`],
        address: { zones: addressOf("zones", host), wan: addressOf("wan", host), lan: addressOf("lan", host) },
        line: (network) => lines.get(network) as NetworkLink,
      };
    },
  };
}

function addressOf(network: NetworkName, host: number): string {
  return `10.77.${NETWORKS.indexOf(network)}.${host}`;
}

function join(name: string, network: NetworkName, host: number): void {
  const port = portOf(name, network);
  ip(`link add ${port} type veth peer name ${network} netns ${name}`);
  ip(`link set ${port} master ${network} up`);
  ip(`-n ${name} addr add ${addressOf(network, host)}/24 dev ${network}`);
  ip(`-n ${name} link set ${network} up`);
}

function portOf(name: string, network: NetworkName): string {
  return `${network}-${name}`;
}

function lineOf(name: string, network: NetworkName, others: () => readonly number[]): NetworkLink {
  const port = portOf(name, network);
  const neighbour = (host: number): string => `neigh replace ${addressOf(network, host)} dev ${network}`;
  let healing: (() => void)[] = [];
  return {
    cut() {
      ip(`link set ${port} nomaster`);
      healing.push(() => ip(`link set ${port} master ${network}`));
    },
    mute() {
      const hosts = others();
      for (const host of hosts) ip(`-n ${name} ${neighbour(host)} lladdr ${NOBODY} nud permanent`);
      healing.push(() => {
        for (const host of hosts) ip(`-n ${name} neigh del ${addressOf(network, host)} dev ${network}`);
      });
    },
    slow(kbits) {
      const shape = `root tbf rate ${kbits}kbit burst ${BURST_BYTES} latency 500ms`;
      shaper(`qdisc replace dev ${port} ${shape}`);
      shaper(`-n ${name} qdisc replace dev ${network} ${shape}`);
      healing.push(() => {
        shaper(`qdisc del dev ${port} root`);
        shaper(`-n ${name} qdisc del dev ${network} root`);
      });
    },
    heal() {
      for (const mend of healing.reverse()) mend();
      healing = [];
    },
    came() {
      const line =
        readFileSync("/proc/net/dev", "latin1")
          .split("\n")
          .find((each) => each.includes(`${port}:`)) ?? "";
      // What goes into this end of the pair comes out of the other one.
      return Number(
        line
          .slice(line.indexOf(":") + 1)
          .trim()
          .split(/\s+/)[8],
      );
    },
  };
}

function ip(words: string): void {
  execFileSync("ip", words.split(" "), { stdio: "pipe" });
}

/** iproute2's `tc`, whatever else a machine calls so. */
function shaper(words: string): void {
  const path = ["/usr/sbin/tc", "/sbin/tc"].find((each) => existsSync(each)) ?? "tc";
  execFileSync(path, words.split(" "), { stdio: "pipe" });
}
