import { rootCertificates } from "node:tls";
import type { ClientOptions } from "ws";

/** Where the cloud is, and what this appliance shows there. */
export interface HubAddress {
  /** Of the link, `wss://…/api/onprem/v1/link`. */
  url: string;
  token: string;
  /** Key and certificate (PEM) of the appliance, and the authority that may have signed the cloud's, beside public ones. */
  key?: string;
  certificate?: string;
  authority?: string;
}

/** Path of the link below the cloud's base URL. @source replication.md 6 */
const LINK_PATH = "/api/onprem/v1/link";

/** The link's address at a cloud whose base URL is given: http becomes ws, https becomes wss. */
export function linkUrl(hub: string): string {
  const base = hub.replace(/\/+$/, "").replace(/^http/, "ws");
  return `${base}${LINK_PATH}`;
}

/** What the socket is opened with. */
export function connectionOptions(url: string, secure: Omit<HubAddress, "url" | "token">): ClientOptions {
  if (!url.startsWith("wss:")) return {};
  const { key, certificate, authority } = secure;
  const own = key && certificate ? { key, cert: certificate } : {};
  return { ...own, ca: authority ? [...rootCertificates, authority] : [...rootCertificates] };
}
