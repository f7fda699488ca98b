import type { LookupFunction } from "node:net";
import { rootCertificates } from "node:tls";
import { HttpsProxyAgent } from "https-proxy-agent";
import { getProxyForUrl } from "proxy-from-env";
import type { ClientOptions } from "ws";
import { CallerError } from "../../lib/errors.ts";
import type { ResolvedAddress } from "../../lib/ssrf-guard.ts";
import type { LocalIdentity } from "../identity/local-identity.ts";

/** Where the cloud is, and what this appliance shows there. */
export interface HubAddress {
  /** Of the link, `wss://…/api/onprem/v1/link`. */
  url: string;
  token: string;
  /** Key and certificate (PEM) of the appliance, and authorities that may have signed the cloud's, beside public ones. */
  key?: string;
  certificate?: string;
  authorities: readonly string[];
  /** URL of the proxy on the way; that of the environment's variables unless given. */
  proxy?: string | null;
  /** Where its name was found to lead, which is not asked again; a proxy asks itself. */
  resolved?: ResolvedAddress | undefined;
}

/** How the cloud is reached. */
export interface HubRoute {
  /** Base URL; that of the enrolment unless given. */
  address: string | null;
  /** URL; that of the environment's variables unless given. */
  proxy: string | null;
  /** PEM of the authority that signed the cloud's certificate, beside the organisation's and public ones. */
  authority: string | null;
  pingIntervalMs: number;
}

/** Path of the link below the cloud's base URL. @source replication.md 6 */
const LINK_PATH = "/api/onprem/v1/link";

/** The link's address at a cloud whose base URL is given: http becomes ws, https becomes wss. */
export function linkUrl(hub: string): string {
  const base = hub.replace(/\/+$/, "").replace(/^http/, "ws");
  return `${base}${LINK_PATH}`;
}

/** What the socket is opened with. A proxy is asked for a tunnel, and sees nothing of what goes through it. */
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

/** Where an enrolled appliance finds its cloud, and what it shows there. */
export function hubAddressOf({ hub, token, key, certificate, authority }: LocalIdentity, way: HubRoute): HubAddress {
  const authorities = [authority, way.authority].filter((each) => each !== null);
  return { url: linkUrl(way.address ?? hub), token, key, certificate, authorities, proxy: way.proxy };
}

/** Throws CallerError for what is no base URL of a cloud. */
export function assertHubUrl(hub: string): void {
  const url = URL.canParse(hub) ? new URL(hub) : null;
  if (url?.protocol === "https:" || url?.protocol === "http:") return;
  throw new CallerError("invalid-value", "The cloud's address is an http or https URL.");
}
