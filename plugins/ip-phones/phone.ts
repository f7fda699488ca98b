import { isIP } from "node:net";
import type { DeliveryItem } from "#plugin-api";
import { type PhoneModel, phoneModelByName } from "./phone-models.ts";

/** How a phone is reached. */
export interface PhoneAddress {
  /** Its device identifier, the name by which it introduces itself. */
  name: string;
  host: string;
  port: number;
  model: PhoneModel;
}

/** The phone behind a device, or in words why it can't be reached. @source interfaces.md, Extensions, endpoints, devices */
export function phoneAddressOf(
  device: DeliveryItem["device"],
): { phone: PhoneAddress; fault?: never } | { fault: string; phone?: never } {
  const { IPAddress: host = "", HttpPort: port = "80", DeviceProduct: product = "" } = device.attributes;
  if (isIP(host) === 0) return { fault: host === "" ? "it has no attribute IPAddress" : `${host} is no IP address` };
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) return { fault: `${port} is no port` };
  return { phone: { name: device.deviceIdentifier, host, port: Number(port), model: phoneModelByName(product) } };
}
