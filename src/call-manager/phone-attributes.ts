import type { GatheredPhone } from "./cluster-types.ts";

/** Attribute changes; null removes an attribute, absent ones stay. */
export type AttributeChanges = Readonly<Record<string, string | null>>;

/**
 * Attribute changes of the device of a phone. An unregistered phone keeps its last address, since it is often reachable
 * without its call manager, unless a registered phone has that address now (`taken`).
 * @source docs/decisions/0042-api-contract.md
 */
export function attributesOfPhone(
  { phone, registration }: GatheredPhone,
  clusterName: string,
  before: Readonly<Record<string, string>>,
  addressesInUse: ReadonlySet<string>,
): AttributeChanges {
  const isRegistered = registration?.registered === true;
  const reportedAddress = registration?.address ?? null;
  const last = reportedAddress ?? before.IPAddress ?? null;
  const address = isRegistered ? last : last !== null && addressesInUse.has(last) ? null : last;
  return {
    Name: phone.name,
    Description: phone.description,
    MACAddress: phone.name.replace(/^SEP/i, ""),
    DeviceProduct: phone.product,
    CallManagerDeviceType: phone.model,
    CallManagerDevicePool: phone.devicePool,
    CallManagerCSS: phone.callingSearchSpace,
    CallManagerClusterName: clusterName,
    Location: phone.location,
    AuthenticationUrl: phone.authenticationUrl,
    DirectoryNumbers: phone.lines === null ? (before.DirectoryNumbers ?? "") : phone.lines.join(","),
    IsRegistered: String(isRegistered),
    IPAddress: address,
  };
}

/** Applies changes; empty attributes are removed. */
export function applyAttributeChanges(
  before: Readonly<Record<string, string>>,
  changes: AttributeChanges,
): Record<string, string> {
  const attributes = { ...before };
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") delete attributes[name];
    else attributes[name] = value;
  }
  return attributes;
}
