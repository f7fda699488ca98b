import type { DeliveryItem, ProbeResult } from "#plugin-api";
import { explainCallFailure } from "../call-failures.ts";
import type { SipUserAgent } from "../user-agent/user-agent.ts";
import { resolveDestination, type SipDirectory } from "./sip-directory.ts";

/** Statuses by which a proxy reports that the device is unavailable. */
const UNREACHABLE_STATUSES = [404, 408, 410, 480, 502, 503, 504, 604];

/** Sends OPTIONS to a device, which is neither audible nor visible. @source RFC 3261 §11 */
export async function probeSipDevice(
  device: DeliveryItem["device"],
  { agent, directory }: { agent: Pick<SipUserAgent, "options">; directory: SipDirectory },
): Promise<ProbeResult> {
  try {
    const { uri, hop, credentials } = await resolveDestination(device, directory);
    const { status, reason } = await agent.options(uri, hop, credentials);
    if (!UNREACHABLE_STATUSES.includes(status)) return { proof: "answered" };
    return { proof: null, reason: explainCallFailure({ status, reason: reason }).reason };
  } catch (error) {
    return { proof: null, reason: (error as Error).message };
  }
}
