import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { nodeVersionError } from "../lib/node-version.ts";
import { checkMulticast } from "../media/multicast-check.ts";
import { formatListenAddress, networkBounds, parseListenAddress } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";
import { isLoopbackHost, tlsAddress } from "../settings/tls-address.ts";
import { compareSources } from "../time-zones/disagreements.ts";
import { installedZonesFolder, isOutdated, openZoneData, UPDATE_HINT } from "../time-zones/zone-data.ts";
import { isNodeUnsupported, nodeEndOfLife } from "./node-support.ts";

/** Result of one check; `next` says how to fix it. */
export interface DiagnosticFinding {
  check: string;
  state: "good" | "warning" | "fault";
  found: string;
  next: string | null;
}

/** State reported by a running daemon. */
export interface DaemonState {
  version: string;
  url: string;
  /** HOST:PORT it listens at, as given at its start; absent while it starts. */
  listen?: string;
  status: "GREEN" | "YELLOW" | "RED";
  reasons: { level: "red" | "yellow"; reason: string }[];
  /** What it sends from; absent while it starts. */
  network?: NetworkState;
}

/** What a daemon sends from. */
export interface NetworkState {
  /** External IPv4 addresses of this machine. */
  addresses: string[];
  multicast: {
    group: string;
    /** Given in the settings; null: as the routes lead. */
    networkInterface: string | null;
    /** The address that packets come from; null while they cannot leave. */
    address: string | null;
    problem: string | null;
  };
}

export interface DiagnosticsDeps {
  dataDir: string;
  settings: Settings;
  /** Null if no daemon runs on these data. */
  daemonState: DaemonState | null;
  version: string;
  clock: Clock;
}

const good = (check: string, found: string): DiagnosticFinding => ({ check, state: "good", found, next: null });
const problem = (state: "warning" | "fault", check: string, found: string, next: string): DiagnosticFinding => ({
  ...{ check, state, found, next },
});

/** Checks everything that may keep an appliance from working, in the order in which problems are best fixed. */
export async function runDiagnostics(deps: DiagnosticsDeps): Promise<DiagnosticFinding[]> {
  const { dataDir, settings, daemonState, version } = deps;
  return [
    nodeFinding(process.versions.node, deps.clock),
    ...dataFolderFindings(dataDir),
    ...(await diskFindings(dataDir)),
    multicastFinding(daemonState?.network?.multicast ?? (await checkHere(settings))),
    addressFinding(settings, daemonState?.listen ?? null),
    ...(await timeZoneFindings(deps)),
    await programFinding("espeak-ng", ["--version"], {
      check: "Speech",
      does: "speech synthesis",
      without: "no speech output",
    }),
    await programFinding("ffmpeg", ["-version"], {
      check: "Recordings and images",
      does: "decoding of mp3, ogg and flac, and scaling of images for phones,",
      without: "recordings must be WAV files, and images that phones can't display are replaced by the text",
    }),
    ...daemonFindings(daemonState, version, dataDir),
  ];
}

/** Whether `version` of Node runs Carillon and still gets security fixes. */
export function nodeFinding(version: string, clock: Clock): DiagnosticFinding {
  if (nodeVersionError(version) !== null) return problem("fault", "Node", `${version} is too old`, "Install Node 24.");
  const end = nodeEndOfLife(version);
  if (!isNodeUnsupported(version, clock.now()))
    return good("Node", end === null ? version : `${version}, security fixes until ${end}`);
  const next = "Upgrade Carillon, whose packages have their own Node, or the Node of this machine.";
  return problem("warning", "Node", `${version} has had no security fixes since ${end}`, next);
}

function dataFolderFindings(dataDir: string): DiagnosticFinding[] {
  if (!existsSync(join(dataDir, "carillon.db"))) {
    const next = `carillon init --data ${dataDir} --admin-email …, or start the daemon and set it up in the browser.`;
    return [problem("fault", "Data", `no appliance found in ${dataDir}`, next)];
  }
  const findings: DiagnosticFinding[] = [];
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    findings.push(good("Data", `${dataDir} is readable and writable`));
  } catch {
    findings.push(
      problem(
        "fault",
        "Data",
        `no permission to write ${dataDir}`,
        "Run this command as the daemon's user, or change the owner.",
      ),
    );
  }
  const { mode } = statSync(dataDir);
  if ((mode & 0o077) !== 0)
    findings.push(
      problem("warning", "Data", "other users of this machine can read the folder", `chmod 700 ${dataDir}`),
    );
  if (!existsSync(join(dataDir, "secret-key")))
    findings.push(good("Secret key", "not in the data directory; provided as a systemd credential"));
  return findings;
}

const GIB = 1_073_741_824;

async function diskFindings(dataDir: string): Promise<DiagnosticFinding[]> {
  if (!existsSync(dataDir)) return [];
  const { bavail, blocks, bsize } = await statfs(dataDir);
  const [free, total] = [bavail * bsize, blocks * bsize];
  const freeText = `${(free / GIB).toFixed(1)} of ${(total / GIB).toFixed(1)} GiB free`;
  if (free > 0.1 * total || free > 2 * GIB) return [good("Disk", freeText)];
  return [
    problem(free < 0.03 * total ? "fault" : "warning", "Disk", freeText, "Delete old backups, or use a larger disk."),
  ];
}

/** Without a daemon this process checks what a daemon would use. */
async function checkHere({ network, audio }: Settings): Promise<NetworkState["multicast"]> {
  const target = { group: networkBounds(audio.multicastRange).first, networkInterface: network.multicastInterface };
  return { ...target, ...(await checkMulticast({ ...target, port: 0 }, systemClock)) };
}

function multicastFinding({ networkInterface, address, problem }: NetworkState["multicast"]): DiagnosticFinding {
  if (problem === null)
    return good(
      "Multicast",
      `leaves from ${address}${networkInterface === address ? "" : interfaceText(networkInterface)}`,
    );
  const next =
    networkInterface === null
      ? `Connect the appliance to the phones' network, or add a route: ip route add 224.0.0.0/4 dev …`
      : "Set network.multicastInterface to the name or an address of an interface of this machine that is up.";
  return { check: "Multicast", state: "fault", found: problem, next };
}

function interfaceText(networkInterface: string | null): string {
  return networkInterface === null ? ", as the system's routes lead" : `, interface ${networkInterface}`;
}

/** `running`: HOST:PORT of the running daemon, which its command line may override; null if none runs. */
function addressFinding(settings: Settings, running: string | null): DiagnosticFinding {
  const listened = parseListenAddress(settings.listen);
  const secure = listened && tlsAddress(settings, listened, false);
  const isSecure = secure !== null && !("plain" in secure);
  const [name, wanted] = isSecure ? ["tls.listen", formatListenAddress(secure)] : ["listen", settings.listen];
  const at = running ?? wanted;
  const { host = "", port = 0 } = parseListenAddress(at) ?? {};
  const isOther = at !== wanted;
  if (isLoopbackHost(host)) {
    const open = formatListenAddress({ host: "0.0.0.0", port });
    const advice = isOther ? `Start the daemon with --listen ${open}, or with --config FILE` : `Set ${name} to ${open}`;
    return problem(
      "warning",
      "Address",
      `${at} is reachable from this machine only`,
      `${advice}, or put a proxy in front of it.`,
    );
  }
  const isPlain = at === settings.listen && (!secure || !("plain" in secure) || secure.plain === "setting");
  if (isPlain) {
    const found = `${at} without TLS: passwords and sessions can be read on the way`;
    return problem("warning", "Address", found, "Set tls.listen to HOST:8443, or put a proxy with TLS in front of it.");
  }
  return good("Address", isOther ? `${at} (in use); the settings file says ${wanted}` : at);
}

const MAX_NAMED_ZONES = 5;

/** The time zone data that a daemon on these data uses, and what the other sources say. */
async function timeZoneFindings({ dataDir, settings, clock }: DiagnosticsDeps): Promise<DiagnosticFinding[]> {
  const { folder } = settings.timeZones;
  const data = openZoneData({ folder, installedFolder: installedZonesFolder(dataDir) });
  const sources = await compareSources(data, clock);
  const texts = sources.map(({ kind, version, arrivedAt, isInUse, differs, lacks }) => {
    const days = arrivedAt === null ? null : Math.max(0, Math.round((clock.now() - arrivedAt) / DAY_MS));
    const age = days === null ? "" : `, since ${days} days`;
    const named = differs.slice(0, MAX_NAMED_ZONES).join(", ");
    const more = differs.length > MAX_NAMED_ZONES ? ` and ${differs.length - MAX_NAMED_ZONES} more` : "";
    const others = differs.length > 0 ? ` (other rules for ${named}${more})` : "";
    return `${version ?? "unknown version"} of ${kind}${age}${isInUse ? ", in use" : others}${lacks.length > 0 ? `, without ${lacks.length} zones` : ""}`;
  });
  const found = texts.join("; ");
  const isMachineMissing = !sources.some(({ kind }) => kind === "machine");
  const twins = sources.filter(({ version }) => version !== null && version === sources[0]?.version);
  const findings = [
    ...data.problems().map((text) => problem("warning", "Time zones", text, UPDATE_HINT)),
    ...(isMachineMissing
      ? [problem("warning", "Time zones", `no time zone database in ${folder}`, "apt-get install tzdata")]
      : []),
    ...(twins.some(({ differs }) => differs.length > 0)
      ? [
          problem(
            "warning",
            "Time zones",
            `sources of one version disagree: ${found}`,
            "apt-get install --reinstall tzdata",
          ),
        ]
      : []),
  ];
  if (isOutdated(data, clock.now())) return [...findings, problem("warning", "Time zones", found, UPDATE_HINT)];
  return [...findings, good("Time zones", found)];
}

/** What an external program is used for, and what is missing without it. */
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
    return [problem("fault", "Daemon", "no daemon runs on these data", next)];
  }
  const findings = [good("Daemon", `${daemon.version} at ${daemon.url}`)];
  if (daemon.version !== version) {
    const found = `${daemon.version} is running, ${version} is installed`;
    findings.push(problem("warning", "Daemon", found, "Restart the daemon: systemctl restart carillon"));
  }
  if (daemon.status === "GREEN") findings.push(good("Health", "GREEN"));
  for (const { level, reason } of daemon.reasons)
    findings.push(
      problem(level === "red" ? "fault" : "warning", "Health", reason, `carillon logs --data ${dataDir} --level warn`),
    );
  return findings;
}
