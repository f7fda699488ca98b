/**
 * Whether a geocode of an alert, `name=value`, concerns a configured one. Codes of whole states or provinces concern their
 * parts, and the other way round. `*=value` is configured for a value of any scheme. @source 47 CFR §11.31(c): SAME location codes;
 * CAP-CP Location 1.0; NWS Instruction 10-1702: UGC
 */
export function concernsGeocode(given: string, configured: string): boolean {
  if (given === configured) return true;
  const [scheme, value] = parts(given);
  const [otherScheme, other] = parts(configured);
  if (otherScheme === "*") return value === other;
  if (scheme !== otherScheme) return false;
  if (/^(same|fips6?)$/.test(scheme)) return concernsCounty(value, other);
  if (scheme === "ugc") return concernsZone(value, other);
  // The digits of a place begin with those of its province and census division.
  return isCanadian(scheme) && value !== "" && (other.startsWith(value) || value.startsWith(other));
}

/** Whether a code of this scheme is configured, so that one that does not concern it is elsewhere. */
export function isKnownScheme(given: string, configured: readonly string[]): boolean {
  const [scheme, value] = parts(given);
  return configured.some((each) => {
    const [other, wanted] = parts(each);
    return other === scheme || (other === "*" && wanted.length === value.length);
  });
}

function parts(code: string): [scheme: string, value: string] {
  const at = code.lastIndexOf("=");
  return [
    code.slice(0, at).trim().toLowerCase(),
    code
      .slice(at + 1)
      .trim()
      .toUpperCase(),
  ];
}

/** A subdivision of the county, the state and the county. */
const SAME = /^(\d)(\d\d)(\d\d\d)$/;

function concernsCounty(given: string, configured: string): boolean {
  const [, , state, county] = SAME.exec(given.padStart(6, "0")) ?? [];
  const [, , ownState, ownCounty] = SAME.exec(configured.padStart(6, "0")) ?? [];
  if (state === undefined || ownState === undefined) return false;
  if (state === "00" && county === "000") return true;
  return state === ownState && (county === ownCounty || county === "000" || ownCounty === "000");
}

function concernsZone(given: string, configured: string): boolean {
  return given.slice(0, 2) === configured.slice(0, 2) && /^..[CZ](000|ALL)$/.test(given);
}

function isCanadian(scheme: string): boolean {
  return scheme.startsWith("profile:cap-cp:location");
}
