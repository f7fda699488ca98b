import type { DeliveryItem, ProbeResult } from "#plugin-api";
import { phoneAddressOf } from "./phone.ts";
import type { RequestPhone } from "./phone-client.ts";

/**
 * Asks a phone's web server for the page about the device: nobody sees or hears it. Any answer is one of the phone, also
 * a refusal. @source protocols.md 3
 */
export async function probePhone(device: DeliveryItem["device"], ask: RequestPhone): Promise<ProbeResult> {
  const { phone, fault } = phoneAddressOf(device);
  if (!phone) return { proof: null, reason: fault };
  const exchange = await ask(phone, { method: "GET", path: "/DeviceInformationX", headers: {}, body: "" });
  return exchange.answer ? { proof: "answered" } : { proof: null, reason: exchange.fault.message };
}
