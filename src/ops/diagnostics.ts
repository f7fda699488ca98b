import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { nodeVersionError } from "../lib/node-version.ts";
import { formatListenAddress, parseListenAddress } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";

/** What one look found; `next` is what to do about it. */
export interface DiagnosticFinding {
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
export interface DiagnosticsDeps {
  dataDir: string;
  settings: Settings;
  /** Null when no daemon answers on this data. */
  daemonState: DaemonState | null;
  version: string;
}

const good = (check: string, found: string): DiagnosticFinding => ({ check, state: "good", found, next: null });
const problem = (state: "warning" | "fault", check: string, found: string, next: string): DiagnosticFinding => ({
  ...{ check, state, found, next },
});

/** Looks at everything that keeps an appliance from working, in the order in which it is best put right. */
export async function runDiagnostics(needs: DiagnosticsDeps): Promise<DiagnosticFinding[]> {
  const { dataDir, settings, daemonState, version } = needs;
  return [
    nodeFinding(),
    ...dataFolderFindings(dataDir),
    ...(await diskFindings(dataDir)),
    ...multicastFindings(settings),
    addressFinding(settings, daemonState?.listen ?? null),
    await programFinding("espeak-ng", ["--version"], {
      check: "Speech",
      does: "messages are spoken",
      without: "nothing is spoken",
    }),
    await programFinding("ffmpeg", ["-version"], {
      check: "Recordings and pictures",
      does: "mp3, ogg and flac are read, and pictures made to fit phones,",
      without: "recordings must be WAV, and pictures that phones can't show as they are give the text",
    }),
    ...daemonFindings(daemonState, version, dataDir),
  ];
}

function nodeFinding(): DiagnosticFinding {
  if (nodeVersionError(process.versions.node) === null) return good("Node", `${process.versions.node} runs Carillon`);
  return problem("fault", "Node", `${process.versions.node} is too old`, "Install Node 24.");
}

function dataFolderFindings(dataDir: string): DiagnosticFinding[] {
  if (!existsSync(join(dataDir, "carillon.db"))) {
    const next = `carillon init --data ${dataDir} --admin-email …, or start the daemon and set it up in the browser.`;
    return [problem("fault", "Data", `there is no appliance in ${dataDir}`, next)];
  }
  const findings: DiagnosticFinding[] = [];
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    findings.push(good("Data", `${dataDir} can be read and written`));
  } catch {
    findings.push(
      problem("fault", "Data", `${dataDir} can't be written`, "Run this as the daemon's user, or correct its owner."),
    );
  }
  const { mode } = statSync(dataDir);
  if ((mode & 0o077) !== 0)
    findings.push(problem("warning", "Data", "others on this machine may read the folder", `chmod 700 ${dataDir}`));
  if (!existsSync(join(dataDir, "secret-key")))
    findings.push(good("Secret key", "it is not in the data: a credential of the service"));
  return findings;
}

const GIB = 1_073_741_824;

async function diskFindings(dataDir: string): Promise<DiagnosticFinding[]> {
  if (!existsSync(dataDir)) return [];
  const { bavail, blocks, bsize } = await statfs(dataDir);
  const [free, total] = [bavail * bsize, blocks * bsize];
  const words = `${(free / GIB).toFixed(1)} of ${(total / GIB).toFixed(1)} GiB are free`;
  if (free > 0.1 * total || free > 2 * GIB) return [good("Disk", words)];
  return [
    problem(free < 0.03 * total ? "fault" : "warning", "Disk", words, "Remove old backups, or give it more room."),
  ];
}

function multicastFindings(settings: Settings): DiagnosticFinding[] {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const wanted = settings.network.multicastInterface;
  const outside = addresses.find(({ family, internal }) => family === "IPv4" && !internal);
  const findings: DiagnosticFinding[] = [];
  if (wanted !== null && !addresses.some(({ address }) => address === wanted)) {
    const next = "Set network.multicastInterface to an address of this machine.";
    findings.push(problem("fault", "Multicast", `${wanted} is not an address of this machine`, next));
  } else if (wanted === null && !outside) {
    findings.push(
      problem("fault", "Multicast", "the machine has no outside address", "Connect it to the phones' network."),
    );
  } else findings.push(good("Multicast", `goes out at ${wanted ?? outside?.address}`));
  return findings;
}

/** `running` is where a daemon listens, which its command line may have said; null where none runs. */
function addressFinding(settings: Settings, running: string | null): DiagnosticFinding {
  const [name, wanted] =
    settings.tls.listen === null ? ["listen", settings.listen] : ["tls.listen", settings.tls.listen];
  const at = running ?? wanted;
  const { host = "", port = 0 } = parseListenAddress(at) ?? {};
  const isOther = at !== wanted;
  if (host === "127.0.0.1" || host === "::1" || host === "localhost") {
    const open = formatListenAddress({ host: "0.0.0.0", port });
    const how = isOther ? `Start it with --listen ${open}, or with --config FILE` : `Set ${name} to ${open}`;
    return problem(
      "warning",
      "Address",
      `${at} is reached from this machine alone`,
      `${how}, or put a proxy before it.`,
    );
  }
  return good("Address", isOther ? `${at}, as it was started; these settings say ${wanted}` : at);
}

/** What a program is for. */
interface ProgramPurpose {
  check: string;
  does: string;
  without: string;
}

function programFinding(
  name: string,
  args: string[],
  { check, does, without }: ProgramPurpose,
): Promise<DiagnosticFinding> {
  return new Promise((resolve) => {
    execFile(name, args, { timeout: 5_000 }, (error) => {
      resolve(
        error
          ? problem("warning", check, `${name} is missing: ${without}`, `apt-get install ${name}`)
          : good(check, `${does} by ${name}`),
      );
    });
  });
}

function daemonFindings(daemon: DaemonState | null, version: string, dataDir: string): DiagnosticFinding[] {
  if (!daemon) {
    const next = `systemctl status carillon; or carillon serve --data ${dataDir}`;
    return [problem("fault", "Daemon", "none answers on this data", next)];
  }
  const findings = [good("Daemon", `${daemon.version} at ${daemon.url}`)];
  if (daemon.version !== version) {
    const found = `${daemon.version} runs, ${version} is installed`;
    findings.push(problem("warning", "Daemon", found, "Restart it: systemctl restart carillon"));
  }
  if (daemon.status === "GREEN") findings.push(good("Health", "GREEN"));
  for (const { level, reason } of daemon.reasons)
    findings.push(problem(level === "red" ? "fault" : "warning", "Health", reason, "carillon logs --level warn"));
  return findings;
}
