import type { LookupFunction } from "node:net";
import { rootCertificates } from "node:tls";
import { HttpsProxyAgent } from "https-proxy-agent";
import { getProxyForUrl } from "proxy-from-env";
import type { ClientOptions } from "ws";
import { CallerError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { ResolvedAddress } from "../../lib/ssrf-guard.ts";
import type { LocalIdentity } from "../identity/local-identity.ts";

/** Address of the cloud, and the credentials for it. */
export interface HubAddress {
  /** URL of the link, `wss://…/api/onprem/v1/link`. */
  url: string;
  token: string;
  /** Key and certificate (PEM) of the appliance, and CA certificates accepted for the cloud besides public ones. */
  key?: string;
  certificate?: string;
  authorities: readonly string[];
  /** URL of the proxy; default: from the environment variables. */
  proxy?: string | null;
  /** Resolved address of the host, so that it is not looked up again; a proxy resolves names itself. */
  resolved?: ResolvedAddress | undefined;
}

/** Connection settings of the machine. */
export interface HubRoute {
  /** Base URL; default: that of the enrolment. */
  address: string | null;
  /** URL; default: from the environment variables. */
  proxy: string | null;
  /** CA certificate (PEM) accepted for the cloud, besides the organisation's and public ones. */
  authority: string | null;
  pingIntervalMs: number;
}

/** Path of the link below the cloud's base URL. @source docs/decisions/0040-replication.md, Section 6 */
const LINK_PATH = "/api/onprem/v1/link";

/** Link URL for the cloud's base URL: http becomes ws, https becomes wss. */
export function linkUrl(hub: string): string {
  const base = hub.replace(/\/+$/, "").replace(/^http/, "ws");
  return `${base}${LINK_PATH}`;
}

/** Socket options. A proxy only tunnels: TLS is end to end. */
export function connectionOptions(url: string, address: Omit<HubAddress, "url" | "token">): ClientOptions {
  const proxy = address.proxy ?? getProxyForUrl(url.replace(/^ws/, "http"));
  const through: ClientOptions & LookupOptions =
    proxy === "" ? fixedLookup(address.resolved) : { agent: new HttpsProxyAgent(proxy) };
  if (!url.startsWith("wss:")) return through;
  const { key, certificate, authorities } = address;
  const own = key && certificate ? { key, cert: certificate } : {};
  return { ...through, ...own, ca: [...rootCertificates, ...authorities] };
}

interface LookupOptions {
  lookup?: LookupFunction;
}

function fixedLookup(found: ResolvedAddress | undefined): LookupOptions {
  if (!found) return {};
  const { address, family } = found;
  return { lookup: (_host, { all }, done) => (all ? done(null, [found]) : done(null, address, family)) };
}

/** Address and credentials of an enrolled appliance. */
export function hubAddressOf({ hub, token, key, certificate, authority }: LocalIdentity, route: HubRoute): HubAddress {
  const authorities = [authority, route.authority].filter((each) => each !== null);
  return { url: linkUrl(route.address ?? hub), token, key, certificate, authorities, proxy: route.proxy };
}

/** Throws CallerError if it is not an http or https URL. */
export function assertHubUrl(hub: string): void {
  const url = URL.canParse(hub) ? new URL(hub) : null;
  if (url?.protocol === "https:" || url?.protocol === "http:") return;
  throw new CallerError("invalid-value", sentence("error.the-cloud-s-address-must-be-an-http-or-https-url"));
}
