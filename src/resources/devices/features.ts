/**
 * What clients can count on, as sessions tell it. own choice: of the digest's words, those that Carillon has or could
 * have; names of companies and of their products are left out, but for the two push services whose devices are known.
 * @source digest `/v1/session`
 */
export const FEATURES = [
  "phoneCall",
  "applePush",
  "firebasePush",
  "desktopNotifier",
  "outboundCap",
  "inboundCap",
  "reporting",
  "email",
  "sms",
  "onprem",
  "failover",
  "callmgrEnabled",
] as const;

/** One of them. */
export type Feature = (typeof FEATURES)[number];

/** What every appliance has. */
export const BUILT_IN_FEATURES: readonly Feature[] = ["reporting", "onprem"];

const BY_DEVICE_TYPE: Readonly<Record<string, Feature>> = {
  "phone-call": "phoneCall",
  apns: "applePush",
  Android: "firebasePush",
  desktop: "desktopNotifier",
  "outbound-cap": "outboundCap",
  email: "email",
  SMS: "sms",
};
const BY_PLUGIN: Readonly<Record<string, Feature>> = { "cap-in": "inboundCap" };

/** The feature that an extension brings; null for one that no word stands for. */
export function extensionFeature({
  deviceType,
  plugin,
}: {
  deviceType: string | null;
  plugin: string | null;
}): Feature | null {
  return BY_DEVICE_TYPE[deviceType ?? ""] ?? BY_PLUGIN[plugin ?? ""] ?? null;
}
