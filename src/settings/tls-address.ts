import { type ListenAddress, parseListenAddress } from "./network-addresses.ts";
import type { Settings } from "./schema.ts";

/** Port of the API with TLS unless one is given, and the one that is taken where `listen` has this. */
const TLS_PORT = 8443;
const OTHER_TLS_PORT = 8444;

/** Why there is no TLS. */
export type PlainReason = "setting" | "loopback" | "proxy" | "earlier-data";

/**
 * Where the API is served with TLS, or why it is not. `auto` is TLS on port 8443 of the host of `listen`, unless only this machine
 * reaches that, a proxy in front terminates TLS, or the data are those of a release that served plain HTTP.
 * @source docs/decisions/0510-tls-by-default.md
 */
export function tlsAddress(
  { tls, api }: Pick<Settings, "tls" | "api">,
  { host, port }: ListenAddress,
  isEarlierData: boolean,
  autoPort = TLS_PORT,
): ListenAddress | { plain: PlainReason } {
  if (tls.listen === null) return { plain: "setting" };
  if (tls.listen !== "auto") return parseListenAddress(tls.listen) ?? { plain: "setting" };
  if (isLoopbackHost(host)) return { plain: "loopback" };
  if (api.trustedProxies.length > 0) return { plain: "proxy" };
  if (isEarlierData) return { plain: "earlier-data" };
  return { host, port: port === 0 ? 0 : port === autoPort ? OTHER_TLS_PORT : autoPort };
}

/** The address of `tls.listen`, null for none: `auto` is none where each tenant has data, and most stand behind a proxy. */
export function givenTlsAddress({ tls }: Pick<Settings, "tls">): ListenAddress | null {
  return tls.listen === null || tls.listen === "auto" ? null : parseListenAddress(tls.listen);
}

/** Whether only this machine reaches a listen address. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}
