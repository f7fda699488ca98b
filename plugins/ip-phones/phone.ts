import { isIP } from "node:net";
import type { DeliveryItem } from "#plugin-api";
import { type PhoneModel, phoneModelByName } from "./phone-models.ts";
import { sentence } from "./sentences.ts";

export interface PhoneAddress {
  /** Device identifier, also used as `devicename` in callbacks. */
  name: string;
  host: string;
  port: number;
  model: PhoneModel;
}

/** Address of a device's phone, or an error. @source docs/decisions/0018-plugin-api.md, Devices and claims */
export function phoneAddressOf(
  device: DeliveryItem["device"],
): { phone: PhoneAddress; error?: never } | { error: string; phone?: never } {
  const { IPAddress: host = "", HttpPort: port = "80", DeviceProduct: product = "" } = device.attributes;
  if (isIP(host) === 0)
    return { error: host === "" ? sentence("address-missing") : sentence("address-invalid", { host }) };
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
    return { error: sentence("port-invalid", { port }) };
  return { phone: { name: device.deviceIdentifier, host, port: Number(port), model: phoneModelByName(product) } };
}
