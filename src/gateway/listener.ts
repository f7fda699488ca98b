import { MAX_CLOUD_CONNECTIONS, startHttpServer } from "../http/http-server.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { parseListenAddress } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";
import { givenTlsAddress } from "../settings/tls-address.ts";
import { redirectToHttps } from "../wiring/api-server.ts";
import { createHostRouter, type FindTenantSupervisor } from "./host-router.ts";
import { startSniRouter } from "./sni-router.ts";

/** The addresses at which clients of all tenants connect. */
export interface GatewayListener {
  url: string;
  /** Public base URL of the tenant with this host name. */
  publicUrl(host: string): string;
  stop(): Promise<void>;
}

/** Room for two tenants with the maximum of clients each, and connections whose host name is not known yet. */
const MAX_CONNECTIONS = 2 * MAX_CLOUD_CONNECTIONS + 4_000;

/**
 * Listens at the addresses of the settings. With an address in `tls.listen`, TLS connections are routed by SNI and plain HTTP is redirected
 * there; without, requests are routed by Host, behind a proxy that terminates TLS. Rejects with Node's error.
 */
export async function startGatewayListener(
  deps: { listen: string; settings: Pick<Settings, "tls" | "api">; clock: Clock },
  find: FindTenantSupervisor,
): Promise<GatewayListener> {
  const { settings, clock } = deps;
  const address = parseListenAddress(deps.listen);
  const secureAddress = givenTlsAddress(settings);
  if (!address) throw new CallerError("invalid-value", "`listen` must be HOST:PORT.");
  const plain = await startHttpServer(address, clock, null, MAX_CONNECTIONS);
  const router = createHostRouter(find, clock);
  const { publicUrl } = settings.api;
  if (!secureAddress) {
    plain.setRequestListener(router.handleRequest, router.handleUpgrade);
    return { url: plain.url, publicUrl: publicUrlFor(publicUrl ?? "https://any"), stop: plain.stop };
  }
  const secure = await startSniRouter(secureAddress, find, MAX_CONNECTIONS, clock).catch(async (error: unknown) => {
    await plain.stop();
    throw error;
  });
  const { port } = secure;
  plain.setRequestListener((request, response) => {
    const supervisor = router.supervisorFor(request, response);
    if (supervisor) redirectToHttps(request, response, { port, dataDir: supervisor.dataDir });
  });
  return {
    url: secure.url,
    publicUrl: publicUrlFor(publicUrl ?? `https://any:${port}`),
    async stop() {
      await Promise.all([plain.stop(), secure.stop()]);
    },
  };
}

/** `base` with the host name of a tenant. */
function publicUrlFor(base: string): (host: string) => string {
  return (host) => {
    const url = new URL(base);
    url.hostname = host;
    return url.href.replace(/\/$/, "");
  };
}
