import { existsSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { hostname } from "node:os";
import {
  type ClientAddressOf,
  MAX_CLOUD_CONNECTIONS,
  type MainHttpServer,
  type ServerCertificate,
  startHttpServer,
} from "../http/http-server.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { externalAddresses } from "../lib/network-route.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import type { HealthReason, HealthSource } from "../ops/health/health.ts";
import {
  authorityPath,
  certificateHealthReasons,
  ensureAuthority,
  ensureCertificate,
  readCertificate,
} from "../ops/tls/certificates.ts";
import { formatListenAddress, type ListenAddress } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";
import { tlsAddress } from "../settings/tls-address.ts";

export interface ApiServerDeps {
  dataDir: string;
  /** Listen address of the settings or the command line. */
  address: ListenAddress;
  settings: Pick<Settings, "tls" | "api" | "listen">;
  clock: Clock;
  log: Log;
  /** The data are those of a release that served plain HTTP: TLS has to be asked for. */
  isEarlierData?: boolean;
  /** Port of TLS for `auto`; default 8443. */
  autoPort?: number;
  /** Runs as a cloud: appliances authenticate with certificates of the own CA, and there may be many of them. */
  isHub?: boolean;
  /** See `startHttpServer`. */
  callerAt?: ClientAddressOf;
}

/** The API server and its certificate. */
export interface ApiServer extends MainHttpServer {
  healthSource: HealthSource;
  /** HOST:PORT at which the API is served. */
  listen: string;
  /** Loads the certificate that is now in the data directory. */
  reloadCertificate(): Promise<void>;
  /** The machine's addresses changed: the own certificate names them, too. */
  networkChanged(): void;
}

const DAY_MS = 86_400_000;
/** Serves the CA certificate over plain HTTP, for people who compare its fingerprint. */
const AUTHORITY_URL = "/carillon-authority.crt";

/** Starts the API server and, with TLS, a plain HTTP server that redirects to it. Rejects with Node's error for an address in use. */
export async function startApiServer(deps: ApiServerDeps): Promise<ApiServer> {
  const { dataDir, address, settings, clock, log } = deps;
  const maxConnections = deps.isHub ? MAX_CLOUD_CONNECTIONS : undefined;
  const wanted = tlsAddress(settings, address, deps.isEarlierData === true, deps.autoPort);
  const servePlain = async (reasons: HealthReason[]): Promise<ApiServer> => ({
    ...(await startHttpServer(address, clock, null, maxConnections, deps.callerAt)),
    listen: formatListenAddress(address),
    healthSource: () => reasons,
    reloadCertificate: async () => undefined,
    networkChanged: () => undefined,
  });
  if ("plain" in wanted)
    return servePlain(wanted.plain === "earlier-data" ? [plainHttp(sentence("health.plain-http-earlier-data"))] : []);
  const secureAddress = wanted;
  /** The own addresses may change. */
  const ensureOwnCertificate = (): Promise<boolean> =>
    ensureCertificate(dataDir, certificateNames(settings, [address, secureAddress]), clock.now());
  await ensureOwnCertificate();
  const clientAuthority = deps.isHub ? { callers: (await ensureAuthority(dataDir, clock.now())).certificate } : {};
  const currentCertificate = (): ServerCertificate => ({ ...activeCertificate(dataDir), ...clientAuthority });
  const server = await startHttpServer(secureAddress, clock, currentCertificate(), maxConnections, deps.callerAt).catch(
    (error: NodeJS.ErrnoException) => {
      // Alarms matter more than encryption that was not asked for.
      if (settings.tls.listen !== "auto" || error.code !== "EADDRINUSE") throw error;
      log.error({ event: "tls.port_in_use", port: secureAddress.port }, "no TLS: its port is in use");
      return null;
    },
  );
  if (!server) return servePlain([plainHttp(sentence("health.plain-http-port-in-use", { port: secureAddress.port }))]);
  const plain = await startHttpServer(address, clock).catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  const port = Number(new URL(server.url).port || 443);
  plain.setRequestListener((request, response) => redirectToHttps(request, response, { port, dataDir }));
  const reloadCertificate = async (): Promise<void> => server.setCertificate(currentCertificate());
  let renewing: Promise<void> = Promise.resolve();
  const renew = (): void => {
    renewing = renewing
      .then(ensureOwnCertificate)
      .then((isNew) => (isNew ? reloadCertificate() : undefined))
      .catch((error: unknown) => log.error({ event: "tls.renewal_failed", err: error }, "certificate renewal failed"));
  };
  const renewalTimer = clock.every(DAY_MS, renew);
  return {
    ...server,
    listen: formatListenAddress(secureAddress),
    reloadCertificate,
    networkChanged: renew,
    healthSource: () => certificateHealthReasons(readCertificate(dataDir)?.facts ?? null, clock.now()),
    async stop() {
      renewalTimer.cancel();
      await Promise.all([server.stop(), plain.stop()]);
    },
  };
}

function plainHttp(reason: Sentence): HealthReason {
  return { level: "yellow", code: "plain-http", reason };
}

function activeCertificate(dataDir: string): ServerCertificate {
  const { certificate = "", key = "", facts } = readCertificate(dataDir) ?? {};
  return { certificate, key, strictTransportSecurity: facts?.origin === "installed" };
}

/** All names and addresses of this machine. */
function certificateNames({ api }: ApiServerDeps["settings"], addresses: readonly ListenAddress[]): string[] {
  const listened = addresses.map(({ host }) => host).filter((host) => host !== "0.0.0.0" && host !== "::");
  const given = api.publicUrl === null ? [] : [new URL(api.publicUrl).hostname.replace(/^\[|\]$/g, "")];
  const all = [
    ...given,
    ...api.hosts,
    hostname(),
    "localhost",
    ...listened,
    ...externalAddresses(),
    "127.0.0.1",
    "::1",
  ];
  return [...new Set(all.map((name) => name.toLowerCase()))];
}

/**
 * True for requests of programs, which are refused instead of redirected: a redirect would hide that every request sends
 * its token in the clear first.
 */
function isProgram({ authorization, accept = "" }: IncomingHttpHeaders, url: string): boolean {
  return authorization !== undefined || (/^\/api\/v\d/.test(url) && !accept.includes("text/html"));
}

/** Without TLS only the redirect (or the port, for writes and programs) and the CA certificate are served. @source docs/decisions/0024-network.md for 426 */
export function redirectToHttps(
  request: IncomingMessage,
  response: ServerResponse,
  to: { port: number; dataDir: string },
): void {
  const { method = "", url = "/", headers } = request;
  if (url === AUTHORITY_URL && existsSync(authorityPath(to.dataDir))) {
    response.writeHead(200, { "Content-Type": "application/x-x509-ca-cert" });
    response.end(readFileSync(authorityPath(to.dataDir)));
    return;
  }
  const host = parseHostHeader(headers.host);
  if (host !== null && (method === "GET" || method === "HEAD") && !isProgram(headers, url)) {
    const authority = formatListenAddress({ host, port: to.port }).replace(/:443$/, "");
    const location = `https://${authority}${url.startsWith("/") ? url : "/"}`;
    // For people: not all programs follow redirects.
    const text = `Use ${location}\nCA certificate: ${AUTHORITY_URL}\n`;
    response.writeHead(308, { Location: location, "Content-Type": "text/plain; charset=utf-8" });
    response.end(method === "HEAD" ? undefined : text);
    return;
  }
  const body = JSON.stringify({
    status: 426,
    type: "upgrade-required",
    message: sentence("error.use-https-at-port-port", { port: to.port }),
  });
  response.writeHead(426, { "Content-Type": "application/json", Upgrade: "TLS/1.2", Connection: "close" });
  response.end(body);
}

/** Host name of a Host header, in lower case, without brackets; null if the header is invalid. */
export function parseHostHeader(header: string | undefined): string | null {
  if (!header || !URL.canParse(`http://${header}/`)) return null;
  const { hostname: name, pathname, username } = new URL(`http://${header}/`);
  return pathname === "/" && username === "" ? name.replace(/^\[|\]$/g, "") : null;
}
