import type { DeliveryItem, ProbeResult } from "#plugin-api";
import { phoneAddressOf } from "./phone.ts";
import type { RequestPhone } from "./phone-client.ts";

/**
 * Requests the phone's device information page, without any visible or audible effect. Any response proves that the
 * phone is there, also a refusal.
 */
export async function probePhone(device: DeliveryItem["device"], requestPhone: RequestPhone): Promise<ProbeResult> {
  const { phone, error } = phoneAddressOf(device);
  if (!phone) return { proof: null, reason: error };
  const exchange = await requestPhone(phone, { method: "GET", path: "/DeviceInformationX", headers: {}, body: "" });
  return exchange.answer ? { proof: "answered" } : { proof: null, reason: exchange.error.message };
}
