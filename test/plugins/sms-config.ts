import type { DeliveryItem } from "../../src/plugin-api/index.ts";
import { itemOf } from "./test-appliance.ts";

/** Configuration as the host hands it over: with all defaults. */
export const SMS_DEFAULTS = {
  transport: "smpp",
  sender: "+15550100",
  language: "en",
  mostParts: 4,
  host: "127.0.0.1",
  tls: false,
  certificateAuthority: null,
  systemId: "school",
  password: "sesame",
  systemType: "",
  receipts: true,
  longTexts: "joined",
  senderTon: null,
  senderNpi: null,
  recipientTon: null,
  recipientNpi: null,
  atOnce: 10,
  provider: "custom",
  gatewayUrl: null,
  gatewayUser: null,
  gatewayPassword: null,
  gatewayMethod: "POST",
  gatewayBody: null,
  gatewayType: "application/json",
  gatewayAuthorization: null,
  gatewayHeader: null,
  gatewaySuccessStatus: null,
  gatewaySuccessPath: null,
  gatewaySuccessPattern: null,
  gatewayReasonPath: null,
  gatewayAnswerId: null,
  receiptState: null,
  receiptId: null,
  receiptArrived: null,
  receiptLost: null,
  inboundToken: null,
  signatureSecret: null,
  inboundFrom: null,
  inboundText: null,
};

/** A delivery to a number. */
export function textTo(
  deliveryId: number,
  number: string,
  body: string,
  details: Partial<DeliveryItem> = {},
): DeliveryItem {
  const device = { id: "0198f3a0-0000-7000-8000-00000000f00a", deviceIdentifier: number, attributes: {} };
  return itemOf(deliveryId, { device, text: { subject: "Fire", body, short: "" }, ...details });
}
