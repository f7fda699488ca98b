import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { nodeFault } from "../base/node-version.ts";
import { formatListen, parseListen } from "../settings/addresses.ts";
import type { Settings } from "../settings/schema.ts";

/** What one look found; `next` is what to do about it. */
export interface Finding {
  check: string;
  state: "good" | "warning" | "fault";
  found: string;
  next: string | null;
}

/** What a running daemon says of itself. */
export interface DaemonState {
  version: string;
  url: string;
  /** HOST:PORT at which it answers, as it was started; not told while it starts. */
  listen?: string;
  status: "GREEN" | "YELLOW" | "RED";
  reasons: { level: "red" | "yellow"; reason: string }[];
}

/** What is looked at. */
export interface DoctorNeeds {
  dataDir: string;
  settings: Settings;
  /** Null when no daemon answers on this data. */
  daemon: DaemonState | null;
  version: string;
}

const good = (check: string, found: string): Finding => ({ check, state: "good", found, next: null });
const bad = (state: "warning" | "fault", check: string, found: string, next: string): Finding => ({
  ...{ check, state, found, next },
});

/** Looks at everything that keeps an appliance from working, in the order in which it is best put right. */
export async function examine(needs: DoctorNeeds): Promise<Finding[]> {
  const { dataDir, settings, daemon, version } = needs;
  return [
    node(),
    ...folder(dataDir),
    ...(await disk(dataDir)),
    ...multicast(settings),
    address(settings, daemon?.listen ?? null),
    await program("espeak-ng", ["--version"], {
      check: "Speech",
      does: "messages are spoken",
      without: "nothing is spoken",
    }),
    await program("ffmpeg", ["-version"], {
      check: "Recordings and pictures",
      does: "mp3, ogg and flac are read, and pictures made to fit phones,",
      without: "recordings must be WAV, and pictures that phones can't show as they are give the text",
    }),
    ...daemonFindings(daemon, version, dataDir),
  ];
}

function node(): Finding {
  if (nodeFault(process.versions.node) === null) return good("Node", `${process.versions.node} runs Carillon`);
  return bad("fault", "Node", `${process.versions.node} is too old`, "Install Node 24.");
}

function folder(dataDir: string): Finding[] {
  if (!existsSync(join(dataDir, "carillon.db"))) {
    const next = `carillon init --data ${dataDir} --admin-email …, or start the daemon and set it up in the browser.`;
    return [bad("fault", "Data", `there is no appliance in ${dataDir}`, next)];
  }
  const findings: Finding[] = [];
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    findings.push(good("Data", `${dataDir} can be read and written`));
  } catch {
    findings.push(
      bad("fault", "Data", `${dataDir} can't be written`, "Run this as the daemon's user, or correct its owner."),
    );
  }
  const { mode } = statSync(dataDir);
  if ((mode & 0o077) !== 0)
    findings.push(bad("warning", "Data", "others on this machine may read the folder", `chmod 700 ${dataDir}`));
  if (!existsSync(join(dataDir, "secret-key")))
    findings.push(good("Secret key", "it is not in the data: a credential of the service"));
  return findings;
}

const GIB = 1_073_741_824;

async function disk(dataDir: string): Promise<Finding[]> {
  if (!existsSync(dataDir)) return [];
  const { bavail, blocks, bsize } = await statfs(dataDir);
  const [free, total] = [bavail * bsize, blocks * bsize];
  const words = `${(free / GIB).toFixed(1)} of ${(total / GIB).toFixed(1)} GiB are free`;
  if (free > 0.1 * total || free > 2 * GIB) return [good("Disk", words)];
  return [bad(free < 0.03 * total ? "fault" : "warning", "Disk", words, "Remove old backups, or give it more room.")];
}

function multicast(settings: Settings): Finding[] {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const wanted = settings.network.multicastInterface;
  const outside = addresses.find(({ family, internal }) => family === "IPv4" && !internal);
  const findings: Finding[] = [];
  if (wanted !== null && !addresses.some(({ address }) => address === wanted)) {
    const next = "Set network.multicastInterface to an address of this machine.";
    findings.push(bad("fault", "Multicast", `${wanted} is not an address of this machine`, next));
  } else if (wanted === null && !outside) {
    findings.push(
      bad("fault", "Multicast", "the machine has no outside address", "Connect it to the phones' network."),
    );
  } else findings.push(good("Multicast", `goes out at ${wanted ?? outside?.address}`));
  return findings;
}

/** `running` is where a daemon listens, which its command line may have said; null where none runs. */
function address(settings: Settings, running: string | null): Finding {
  const [name, wanted] =
    settings.tls.listen === null ? ["listen", settings.listen] : ["tls.listen", settings.tls.listen];
  const at = running ?? wanted;
  const { host = "", port = 0 } = parseListen(at) ?? {};
  const isOther = at !== wanted;
  if (host === "127.0.0.1" || host === "::1" || host === "localhost") {
    const open = formatListen({ host: "0.0.0.0", port });
    const how = isOther ? `Start it with --listen ${open}, or with --config FILE` : `Set ${name} to ${open}`;
    return bad("warning", "Address", `${at} is reached from this machine alone`, `${how}, or put a proxy before it.`);
  }
  return good("Address", isOther ? `${at}, as it was started; these settings say ${wanted}` : at);
}

/** What a program is for. */
interface Purpose {
  check: string;
  does: string;
  without: string;
}

function program(name: string, args: string[], { check, does, without }: Purpose): Promise<Finding> {
  return new Promise((resolve) => {
    execFile(name, args, { timeout: 5_000 }, (error) => {
      resolve(
        error
          ? bad("warning", check, `${name} is missing: ${without}`, `apt-get install ${name}`)
          : good(check, `${does} by ${name}`),
      );
    });
  });
}

function daemonFindings(daemon: DaemonState | null, version: string, dataDir: string): Finding[] {
  if (!daemon) {
    const next = `systemctl status carillon; or carillon serve --data ${dataDir}`;
    return [bad("fault", "Daemon", "none answers on this data", next)];
  }
  const findings = [good("Daemon", `${daemon.version} at ${daemon.url}`)];
  if (daemon.version !== version) {
    const found = `${daemon.version} runs, ${version} is installed`;
    findings.push(bad("warning", "Daemon", found, "Restart it: systemctl restart carillon"));
  }
  if (daemon.status === "GREEN") findings.push(good("Health", "GREEN"));
  for (const { level, reason } of daemon.reasons)
    findings.push(bad(level === "red" ? "fault" : "warning", "Health", reason, "carillon logs --level warn"));
  return findings;
}
