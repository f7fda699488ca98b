import type { Clock } from "../../base/clock.ts";
import { CallerError } from "../../base/errors.ts";
import { parseListen } from "../../settings/addresses.ts";
import type { Settings } from "../../settings/schema.ts";
import { sendOn } from "../secure-server.ts";
import { MOST_AT_HUB, startServer } from "../server.ts";
import { createHostFront, type FindKeeper } from "./host-front.ts";
import { startNameFront } from "./name-front.ts";

/** Where callers of all organisations come. */
export interface Listening {
  url: string;
  /** Under which an organisation is reached. */
  publicUrl(host: string): string;
  stop(): Promise<void>;
}

/** Room for two organisations with all the callers that one may have, and those that have not said where they want to go. */
const MOST = 2 * MOST_AT_HUB + 4_000;

/**
 * Takes the addresses. With TLS, callers are told apart by the name that they ask for, and whoever comes without is sent
 * there; else each request by its Host, as a proxy in front hands it on, whose business TLS then is. Rejects with Node's error.
 */
export async function startListening(
  needs: { listen: string; settings: Pick<Settings, "tls" | "api">; clock: Clock },
  find: FindKeeper,
): Promise<Listening> {
  const { settings, clock } = needs;
  const address = parseListen(needs.listen);
  const secureAddress = settings.tls.listen === null ? null : parseListen(settings.tls.listen);
  if (!address) throw new CallerError("invalid-value", "It listens at HOST:PORT.");
  const plain = await startServer(address, clock, null, MOST);
  const front = createHostFront(find, clock);
  const { publicUrl } = settings.api;
  if (!secureAddress) {
    plain.open(front.request, front.upgrade);
    return { url: plain.url, publicUrl: urlOf(publicUrl ?? "https://any"), stop: plain.stop };
  }
  const secure = await startNameFront(secureAddress, find, MOST, clock).catch(async (error: unknown) => {
    await plain.stop();
    throw error;
  });
  const { port } = secure;
  plain.open((request, response) => {
    const keeper = front.keeperOf(request, response);
    if (keeper) sendOn(request, response, { port, dataDir: keeper.dataDir });
  });
  return {
    url: secure.url,
    publicUrl: urlOf(publicUrl ?? `https://any:${port}`),
    async stop() {
      await Promise.all([plain.stop(), secure.stop()]);
    },
  };
}

/** The settings' URL, with an organisation's host. */
function urlOf(base: string): (host: string) => string {
  return (host) => {
    const url = new URL(base);
    url.hostname = host;
    return url.href.replace(/\/$/, "");
  };
}
