import type { GatheredPhone } from "./reading.ts";

/**
 * The attributes of a phone's device: those that the cluster knows replace what was there, all others stay. A phone that is
 * not registered keeps the address that it had last, since it can often be reached without its call manager, unless a
 * registered phone has that address now (`taken`).
 * @source digest, `/v1/devices`, attributes
 */
export function attributesOf(
  { phone, registration }: GatheredPhone,
  clusterName: string,
  before: Readonly<Record<string, string>>,
  taken: ReadonlySet<string>,
): Record<string, string> {
  const isRegistered = registration?.registered === true;
  const told = registration?.address ?? null;
  const last = told ?? before.IPAddress ?? null;
  const address = isRegistered ? last : last !== null && taken.has(last) ? null : last;
  const known: Record<string, string | null> = {
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
  const attributes = { ...before };
  for (const [name, value] of Object.entries(known)) {
    if (value === null || value === "") delete attributes[name];
    else attributes[name] = value;
  }
  return attributes;
}
