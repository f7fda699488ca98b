import { MAX_CLOUD_CONNECTIONS, startHttpServer } from "../http/http-server.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { parseListenAddress } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";
import { redirectToHttps } from "../wiring/api-server.ts";
import { createHostRouter, type FindTenantSupervisor } from "./host-router.ts";
import { startSniRouter } from "./sni-router.ts";

/** Where callers of all organisations come. */
export interface GatewayListener {
  url: string;
  /** Under which an organisation is reached. */
  publicUrl(host: string): string;
  stop(): Promise<void>;
}

/** Room for two organisations with all the callers that one may have, and those that have not said where they want to go. */
const MAX_CONNECTIONS = 2 * MAX_CLOUD_CONNECTIONS + 4_000;

/**
 * Takes the addresses. With TLS, callers are told apart by the name that they ask for, and whoever comes without is sent
 * there; else each request by its Host, as a proxy in front hands it on, whose business TLS then is. Rejects with Node's error.
 */
export async function startGatewayListener(
  needs: { listen: string; settings: Pick<Settings, "tls" | "api">; clock: Clock },
  find: FindTenantSupervisor,
): Promise<GatewayListener> {
  const { settings, clock } = needs;
  const address = parseListenAddress(needs.listen);
  const secureAddress = settings.tls.listen === null ? null : parseListenAddress(settings.tls.listen);
  if (!address) throw new CallerError("invalid-value", "It listens at HOST:PORT.");
  const plain = await startHttpServer(address, clock, null, MAX_CONNECTIONS);
  const front = createHostRouter(find, clock);
  const { publicUrl } = settings.api;
  if (!secureAddress) {
    plain.setRequestListener(front.handleRequest, front.handleUpgrade);
    return { url: plain.url, publicUrl: publicUrlFor(publicUrl ?? "https://any"), stop: plain.stop };
  }
  const secure = await startSniRouter(secureAddress, find, MAX_CONNECTIONS, clock).catch(async (error: unknown) => {
    await plain.stop();
    throw error;
  });
  const { port } = secure;
  plain.setRequestListener((request, response) => {
    const keeper = front.supervisorFor(request, response);
    if (keeper) redirectToHttps(request, response, { port, dataDir: keeper.dataDir });
  });
  return {
    url: secure.url,
    publicUrl: publicUrlFor(publicUrl ?? `https://any:${port}`),
    async stop() {
      await Promise.all([plain.stop(), secure.stop()]);
    },
  };
}

/** The settings' URL, with an organisation's host. */
function publicUrlFor(base: string): (host: string) => string {
  return (host) => {
    const url = new URL(base);
    url.hostname = host;
    return url.href.replace(/\/$/, "");
  };
}
