import type { GatheredPhone } from "./cluster-types.ts";

/** What becomes of attributes; null takes one away, all others stay. */
export type AttributeChanges = Readonly<Record<string, string | null>>;

/**
 * What a cluster says of the attributes of a phone's device. A phone that is not registered keeps the address that it had
 * last, since it can often be reached without its call manager, unless a registered phone has that address now (`taken`).
 * @source digest, `/v1/devices`, attributes
 */
export function attributesOfPhone(
  { phone, registration }: GatheredPhone,
  clusterName: string,
  before: Readonly<Record<string, string>>,
  taken: ReadonlySet<string>,
): AttributeChanges {
  const isRegistered = registration?.registered === true;
  const told = registration?.address ?? null;
  const last = told ?? before.IPAddress ?? null;
  const address = isRegistered ? last : last !== null && taken.has(last) ? null : last;
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

/** Attributes as they are afterwards; empty ones are left out. */
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
