import { isIP } from "node:net";
import type { DeliveryItem } from "#plugin-api";
import { modelOf, type PhoneModel } from "./phone-models.ts";

/** How a phone is reached. */
export interface Phone {
  /** Its device identifier, the name by which it introduces itself. */
  name: string;
  host: string;
  port: number;
  model: PhoneModel;
}

/** The phone behind a device, or in words why it can't be reached. @source interfaces.md, Extensions, endpoints, devices */
export function readPhone(
  device: DeliveryItem["device"],
): { phone: Phone; fault?: never } | { fault: string; phone?: never } {
  const { IPAddress: host = "", HttpPort: port = "80", DeviceProduct: product = "" } = device.attributes;
  if (isIP(host) === 0) return { fault: host === "" ? "it has no attribute IPAddress" : `${host} is no IP address` };
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) return { fault: `${port} is no port` };
  return { phone: { name: device.deviceIdentifier, host, port: Number(port), model: modelOf(product) } };
}
