/**
 * Features reported by sessions. Only features that Carillon supports or could support; names of companies and
 * products are omitted, except for the two push services whose devices are supported.
 * @source docs/decisions/0042-api-contract.md, `/v1/session`
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

/** A feature. */
export type Feature = (typeof FEATURES)[number];

/** Features of every appliance. */
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

/** The feature of an extension; null if it has none. */
export function extensionFeature({
  deviceType,
  plugin,
}: {
  deviceType: string | null;
  plugin: string | null;
}): Feature | null {
  return BY_DEVICE_TYPE[deviceType ?? ""] ?? BY_PLUGIN[plugin ?? ""] ?? null;
}
