import type { DeliveryItem, ProbeResult } from "#plugin-api";
import { explainCallFailure } from "../call-failures.ts";
import type { SipUserAgent } from "../user-agent/user-agent.ts";
import { resolveDestinations, type SipDestination, type SipDirectory } from "./sip-directory.ts";

/** Statuses by which a proxy reports that the device is unavailable. */
const UNREACHABLE_STATUSES = [404, 408, 410, 480, 502, 503, 504, 604];

/**
 * Sends OPTIONS to a device, which is neither audible nor visible; of several registrations one that answers is enough.
 * @source RFC 3261 §11
 */
export async function probeSipDevice(
  device: DeliveryItem["device"],
  { agent, directory }: { agent: Pick<SipUserAgent, "options">; directory: SipDirectory },
): Promise<ProbeResult> {
  try {
    const destinations = await resolveDestinations(device, directory);
    const results = await Promise.all(destinations.map((destination) => probe(destination, agent)));
    return results.find(({ proof }) => proof !== null) ?? results[0] ?? { proof: null };
  } catch (error) {
    return { proof: null, reason: (error as Error).message };
  }
}

async function probe(
  { uri, hop, credentials }: SipDestination,
  agent: Pick<SipUserAgent, "options">,
): Promise<ProbeResult> {
  try {
    const { status, reason } = await agent.options(uri, hop, credentials);
    if (!UNREACHABLE_STATUSES.includes(status)) return { proof: "answered" };
    return { proof: null, reason: explainCallFailure({ status, reason }).reason };
  } catch (error) {
    return { proof: null, reason: (error as Error).message };
  }
}
