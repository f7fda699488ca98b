import { isIP } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import type { SsrfGuard } from "../../lib/ssrf-guard.ts";
import callmgrClusters from "../../resources/callmgr/callmgr-clusters.ts";
import type devices from "../../resources/devices/devices.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { StoreReader } from "../../store/store.ts";
import type { ClusterRow } from "../cluster-access.ts";
import type { ConnectionCheck } from "../connection-test.ts";
import { type PhoneConfigurationFile, readConfigurationFile } from "./configuration-file.ts";
import { readTftpFile, type TftpServer } from "./tftp-client.ts";
import { TftpError } from "./tftp-error.ts";

/** Codes of problems. */
export const PHONE_PROBLEMS = [
  "no-server",
  "no-file",
  "unreachable",
  "encrypted",
  "invalid",
  "web-access-off",
  "web-access-read-only",
  "https-only",
  "authentication-url-missing",
  "authentication-url-elsewhere",
  "secure-authentication-url-elsewhere",
  "capf-elsewhere",
] as const;

/** Why a phone may refuse pushes. */
export interface PhoneProblem {
  code: (typeof PHONE_PROBLEMS)[number];
  words: Sentence;
  /** The phone refuses pushes, or may refuse them; false: its configuration could not be judged. */
  severity: "refuses" | "may-refuse" | "unknown";
}

/** The configuration of one phone as its TFTP server has it. */
export interface PhoneConfigurationCheck {
  /** Epoch ms. */
  readAt: number;
  /** Server and file; null if none was read. */
  server: string | null;
  file: string | null;
  /** Null if the file could not be read. */
  configuration: PhoneConfigurationFile | null;
  problems: PhoneProblem[];
}

export interface PhoneConfigurationDeps {
  reader: StoreReader;
  clock: Clock;
  policy: SsrfGuard;
  /** URL at which this appliance authenticates pushes; undefined without the plugin of the phones. */
  authenticationUrl(): string | undefined;
  /** Addresses of this machine. */
  ownAddresses(): readonly string[];
}

type Device = Pick<RowOf<typeof devices>, "type" | "deviceIdentifier" | "attributes"> & {
  callManagerCluster?: string | null;
};

/** Reads the configuration of phones from the TFTP servers of their clusters. */
export interface PhoneConfigurations {
  check(device: Device): Promise<PhoneConfigurationCheck>;
  /** Whether the TFTP server of a cluster responds; null without one. */
  testServer(cluster: ClusterRow): Promise<ConnectionCheck | null>;
  /** What is wrong with a phone's configuration, for its reachability test; null if that is nothing or not known. */
  diagnose(device: Device): Promise<PhoneProblem | null>;
  stop(): void;
}

const DEFAULT_PORT = 69;
/** A server that did not respond is not asked for this long, so that a nightly test of thousands of phones ends. */
const SILENCE_MS = 60_000;
/** Clusters that are searched for a phone that was entered by hand. */
const MAX_CLUSTERS = 8;
const PHONE_NAME = /^SEP[0-9A-F]{12}$/;
/** File of phones that a call manager does not know; its absence shows as well that the server responds. */
const PROBE_FILE = "XMLDefault.cnf.xml";
/** Forms of a file, in the order in which they are read. */
const SUFFIXES = [".cnf.xml", ".cnf.xml.sgn", ".cnf.xml.enc.sgn"];

export function createPhoneConfigurations(deps: PhoneConfigurationDeps): PhoneConfigurations {
  const { clock, policy, reader } = deps;
  const abortController = new AbortController();
  const silentUntil = new Map<string, number>();

  async function readFile(server: TftpServer, filename: string): Promise<Buffer> {
    const key = `${server.host}:${server.port}`;
    if ((silentUntil.get(key) ?? 0) > clock.monotonicMs())
      throw new TftpError("timeout", sentence("tftp.timeout", { ...server }));
    silentUntil.delete(key);
    return readTftpFile(server, filename, { policy, clock, signal: abortController.signal }).catch((error: unknown) => {
      if (error instanceof TftpError && error.code === "timeout")
        silentUntil.set(key, clock.monotonicMs() + SILENCE_MS);
      throw error;
    });
  }

  /** The first form of the phone's file that the server has. */
  async function findFile(server: TftpServer, name: string): Promise<{ file: string; content: Buffer } | null> {
    for (const suffix of SUFFIXES) {
      const file = `${name}${suffix}`;
      try {
        return { file, content: await readFile(server, file) };
      } catch (error) {
        if (!(error instanceof TftpError) || error.code !== "no-file") throw error;
      }
    }
    return null;
  }

  async function check(device: Device): Promise<PhoneConfigurationCheck> {
    const found: PhoneConfigurationCheck = {
      ...{ readAt: clock.now(), server: null, file: null, configuration: null },
      problems: [],
    };
    const name = device.deviceIdentifier.toUpperCase();
    const clusters = PHONE_NAME.test(name) ? clustersOf(reader, device) : [];
    if (clusters.length === 0) {
      found.problems.push({ code: "no-server", words: sentence("phone-configuration.no-server"), severity: "unknown" });
      return found;
    }
    for (const cluster of clusters) {
      const server = tftpServerOf(cluster);
      found.server = `${server.host}:${server.port}`;
      try {
        const file = await findFile(server, name);
        if (file) return { ...found, file: file.file, ...judge(file.content, cluster) };
        const words = sentence("phone-configuration.no-file", { name, host: server.host });
        found.problems.push({ code: "no-file", words, severity: "unknown" });
      } catch (error) {
        if (!(error instanceof TftpError)) throw error;
        found.problems.push({ code: "unreachable", words: error.message as Sentence, severity: "unknown" });
      }
    }
    return found;
  }

  function judge(content: Buffer, cluster: ClusterRow): Pick<PhoneConfigurationCheck, "configuration" | "problems"> {
    const read = readConfigurationFile(content);
    if (typeof read === "string") {
      const words = sentence(read === "encrypted" ? "phone-configuration.encrypted" : "phone-configuration.invalid");
      return { configuration: null, problems: [{ code: read, words, severity: "unknown" }] };
    }
    return { configuration: read, problems: problemsOf(read, cluster, deps) };
  }

  return {
    check,
    async testServer(cluster) {
      if ((cluster.tftpAddress ?? "") === "") return null;
      const { host, port } = tftpServerOf(cluster);
      const began = clock.monotonicMs();
      const done = { what: "tftp", host: `${host}:${port}`, needed: false } as const;
      const took = (): number => Math.round(clock.monotonicMs() - began);
      silentUntil.delete(`${host}:${port}`);
      const works = { ...done, ok: true, code: null, words: sentence("cluster.test-tftp", { host, port }) };
      try {
        await readFile({ host, port }, PROBE_FILE);
        return { ...works, tookMs: took() };
      } catch (error) {
        if (!(error instanceof TftpError)) throw error;
        const { code, message: words } = error;
        if (code === "no-file" || code === "refused" || code === "too-large") return { ...works, tookMs: took() };
        return {
          ...done,
          ok: false,
          code: code === "dns" || code === "timeout" ? code : "answer",
          words,
          tookMs: took(),
        };
      }
    },
    async diagnose(device) {
      if (device.type !== "phones") return null;
      const { problems } = await check(device);
      return (
        problems.find(({ severity }) => severity === "refuses") ??
        problems.find(({ severity }) => severity === "may-refuse") ??
        null
      );
    },
    stop: () => abortController.abort(),
  };
}

/** The cluster of the phone; those of all, for a phone that was entered by hand. Only clusters with a TFTP server. */
function clustersOf(reader: StoreReader, { callManagerCluster }: Device): ClusterRow[] {
  const own = callManagerCluster ? reader.get(callmgrClusters, callManagerCluster) : null;
  const clusters = own ? [own] : reader.find(callmgrClusters, {}, MAX_CLUSTERS);
  return clusters.filter(({ tftpAddress }) => (tftpAddress ?? "") !== "");
}

/** The address may have a port, as all addresses of a cluster; the field for the port wins. */
function tftpServerOf({ tftpAddress, tftpPort }: ClusterRow): TftpServer {
  const address = tftpAddress ?? "";
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(address) ?? [];
  return { host: bracketed ?? plain ?? address, port: tftpPort ?? (port ? Number(port) : DEFAULT_PORT) };
}

function problemsOf(
  file: PhoneConfigurationFile,
  { capfAddress }: ClusterRow,
  deps: Pick<PhoneConfigurationDeps, "authenticationUrl" | "ownAddresses">,
): PhoneProblem[] {
  const problems: PhoneProblem[] = [];
  const add = (code: PhoneProblem["code"], severity: PhoneProblem["severity"], words: Sentence): void =>
    void problems.push({ code, severity, words });
  if (file.webAccess === "off") add("web-access-off", "refuses", sentence("phone-configuration.web-access-off"));
  if (file.webAccess === "read-only")
    add("web-access-read-only", "refuses", sentence("phone-configuration.web-access-read-only"));
  if (file.isHttpsOnly) add("https-only", "refuses", sentence("phone-configuration.https-only"));
  const { authenticationUrl: url, secureAuthenticationUrl: secureUrl } = file;
  const own = deps.authenticationUrl();
  if (url === null && secureUrl === null)
    add("authentication-url-missing", "refuses", sentence("phone-configuration.authentication-url-missing"));
  if (own !== undefined) {
    const isElsewhere = (given: string | null): given is string =>
      given !== null && !isOwnUrl(given, own, deps.ownAddresses());
    if (isElsewhere(url))
      add(
        "authentication-url-elsewhere",
        "may-refuse",
        sentence("phone-configuration.authentication-url-elsewhere", { url, own }),
      );
    if (isElsewhere(secureUrl))
      add(
        "secure-authentication-url-elsewhere",
        "may-refuse",
        sentence("phone-configuration.secure-authentication-url-elsewhere", { url: secureUrl, own }),
      );
  }
  const { capfAddress: capf } = file;
  if (capf !== null && capfAddress && capf.toLowerCase() !== capfAddress.toLowerCase().replace(/:\d+$/, ""))
    add(
      "capf-elsewhere",
      "unknown",
      sentence("phone-configuration.capf-elsewhere", { address: capf, expected: capfAddress }),
    );
  return problems;
}

/** Whether a URL leads to the authentication of this appliance: host and port, or another address of this machine. */
function isOwnUrl(given: string, own: string, ownAddresses: readonly string[]): boolean {
  if (!URL.canParse(given)) return false;
  const [one, other] = [new URL(given), new URL(own)];
  const portOf = ({ port, protocol }: URL): string => port || (protocol === "https:" ? "443" : "80");
  const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (portOf(one) !== portOf(other)) return false;
  const host = hostOf(one);
  return host === hostOf(other) || (isIP(host) !== 0 && ownAddresses.includes(host));
}
