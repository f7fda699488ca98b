/** Longer values of a claim are ignored. */
const MAX_TEXT_LENGTH = 1_000;
/** Maximum number of values read from one attribute. */
const MAX_VALUES = 1_000;

/** Reads the text values of a claim or attribute; blank and too long ones are ignored. */
export function readClaimTexts(value: unknown): string[] {
  const values = Array.isArray(value) ? value : [value];
  return values
    .slice(0, MAX_VALUES)
    .map((each) => (typeof each === "number" ? String(each) : each))
    .filter((each): each is string => typeof each === "string")
    .map((each) => each.trim())
    .filter((each) => each !== "" && each.length <= MAX_TEXT_LENGTH);
}

/** Of SAML: where the groups are to be asked for, if they are too many. @source Microsoft Entra, group overage claim */
const GROUPS_LINK = "http://schemas.microsoft.com/claims/groups.link";

/**
 * Reads the groups of a user. Null if the provider does not say them: the claim is missing, of another form, too long to
 * be read whole, named in `_claim_names`, or empty beside `hasgroups` or `groups.link`. Otherwise an empty one says that the
 * user is in no group. @source OpenID Connect Core 1.0 §5.6.2; docs/decisions/0433-missing-groups.md
 */
export function readGroupClaim(claims: Readonly<Record<string, unknown>>, name: string): string[] | null {
  const value = claims[name];
  const elsewhere = claims._claim_names;
  const isElsewhere = typeof elsewhere === "object" && elsewhere !== null && Object.hasOwn(elsewhere, name);
  const isListed = Array.isArray(value) ? value.length <= MAX_VALUES : /^(string|number)$/.test(typeof value);
  if (isElsewhere || !isListed) return null;
  const groups = readClaimTexts(value);
  const areTooMany = String(claims.hasgroups) === "true" || claims[GROUPS_LINK] !== undefined;
  return groups.length === 0 && areTooMany ? null : groups;
}
