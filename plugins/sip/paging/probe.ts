import type { DeliveryItem, ProbeResult } from "#plugin-api";
import type { Agent } from "../agent/agent.ts";
import { failureOf } from "../failure-words.ts";
import { type Directory, findDevice } from "./device.ts";

/** With these a server on the way says that the device is not there. */
const NOT_THERE = [404, 408, 410, 480, 502, 503, 504, 604];

/** Asks a device by OPTIONS, which nobody hears. @source RFC 3261 §11 */
export async function probeDevice(
  device: DeliveryItem["device"],
  { agent, directory }: { agent: Pick<Agent, "options">; directory: Directory },
): Promise<ProbeResult> {
  try {
    const { uri, hop, credentials } = await findDevice(device, directory);
    const { status, reason } = await agent.options(uri, hop, credentials);
    if (!NOT_THERE.includes(status)) return { proof: "answered" };
    return { proof: null, reason: failureOf({ status, words: reason }).reason };
  } catch (error) {
    return { proof: null, reason: (error as Error).message };
  }
}
