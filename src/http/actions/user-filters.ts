import areasOfInterest from "../../resources/areas/areas-of-interest.ts";
import userDevices from "../../resources/people/user-devices.ts";
import users from "../../resources/people/users.ts";
import { canonicalPath } from "../../schema/catalogue.ts";
import { boolean, text, uuid } from "../../schema/field.ts";
import type { RowVisibility, SqlValue, StoreReader } from "../../store/store.ts";
import { buildVisibilitySql } from "../../store/visibility-sql.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { idListParameter, type Query, textParameter } from "../query/query.ts";
import { requireParents } from "../rows/served-path.ts";

const EXCLUDE_SCIM = { excludeScim: boolean("Excludes users in directory groups.") };
const USER_QUERY = {
  areaOfInterestId: uuid(
    "Only users currently inside this area, according to devices visible to the caller. An area that the caller may not see is treated as empty.",
  ),
  deviceType: text("Only users with a visible device of this type."),
  deviceIdentifier: text("Only users with a visible device with this identifier; case-insensitive."),
  providerIdpId: uuid("Only users of this identity provider; the built-in provider for users of no other."),
  globalDomainId: uuid("Only users with this home domain."),
  ...EXCLUDE_SCIM,
};
const ACTING = "actingDomainId";
const USER_QUERY_WITH_DOMAIN = {
  ...USER_QUERY,
  [ACTING]: uuid("Lists users visible when acting in this domain; the caller must be allowed to act there."),
};
const USER_DEVICE_QUERY = {
  licensed: boolean("Only devices of licensed (true) or unlicensed (false) users."),
};

const DEVICES = {
  resource: userDevices,
  path: canonicalPath(userDevices),
  parents: ["userId"],
  idName: userDevices.idParam,
};

/**
 * Users and their devices with filters that are not fields of the rows.
 * @source docs/decisions/0042-api-contract.md, `/v1/users`, `/v1/users/{userId}/devices`
 */
export const userFilterActions: readonly Action[] = [
  {
    method: "get",
    at: "users",
    doc: "Lists users.",
    query: USER_QUERY_WITH_DOMAIN,
    response: { kind: "list", resource: users },
    async handle(request) {
      const { deps, query, principal, by } = request;
      const domain = oneId(query, ACTING);
      const scope = domain === null ? by.scope : deps.access.resolveScope(principal, domain, ACTING);
      const pks = matchingUserKeys(deps.store, query, scope);
      const requested = Object.keys(USER_QUERY).map((name) => query[name] ?? null);
      const restriction = pks === null ? {} : { pks, pksOf: JSON.stringify(requested) };
      return request.respondWithList(users, restriction, scope);
    },
  },
  {
    method: "get",
    at: "users/{userId}",
    doc: "Returns one row.",
    query: {
      excludeScim: boolean("Returns only direct group memberships, not those from directory groups."),
    },
    response: { kind: "row", resource: users },
    isVisible: ({ params, deps }, scope) => deps.store.get(users, params.userId ?? "", scope) !== null,
    handle: async (request) =>
      request.respondWithRow(users, requireVisibleRow(request, users, request.params.userId ?? "")),
  },
  {
    method: "get",
    at: "users/{userId}/devices",
    doc: "Lists the rows visible to the caller.",
    query: USER_DEVICE_QUERY,
    response: { kind: "list", resource: userDevices },
    async handle(request) {
      requireParents(DEVICES, request);
      const { userId = "" } = request.params;
      const licensed = textParameter(request.query, "licensed");
      const isLicensed = request.deps.store.get(users, userId)?.isLicensed;
      const fits = licensed === null || isLicensed === (licensed === "true");
      return request.respondWithList(userDevices, { within: { userId }, ...(fits ? {} : { ids: [] }) });
    },
  },
];

function oneId(query: Query, name: string): string | null {
  return idListParameter(query, name)?.[0]?.toLowerCase() ?? null;
}

/**
 * Internal keys of the users that match all filters; null without filters. Devices and areas only match if `sight`
 * shows them, so that callers cannot probe for phone numbers, addresses and positions.
 */
function matchingUserKeys(reader: StoreReader, query: Query, visibility: RowVisibility): number[] | null {
  const found: number[][] = [];
  const add = (sql: string, ...values: SqlValue[]): void =>
    void found.push(reader.all<{ pk: number }>(sql, ...values).map(({ pk }) => pk));
  const seen = buildVisibilitySql(visibility.visible(userDevices));
  const ofDevices = (condition: string, value: string): void =>
    add(
      `SELECT DISTINCT t.user_pk AS pk FROM user_devices t WHERE ${condition} AND ${seen.sql}`,
      value,
      ...seen.params,
    );

  const area = oneId(query, "areaOfInterestId");
  if (area !== null) {
    const known = reader.get(areasOfInterest, area, visibility);
    ofDevices("t.pk IN (SELECT device FROM area_presence WHERE area = ?)", known?.id ?? "");
  }
  const type = textParameter(query, "deviceType");
  if (type) ofDevices("t.type = ?", type);
  const identifier = textParameter(query, "deviceIdentifier");
  if (identifier) ofDevices("t.device_identifier = ? COLLATE NOCASE", identifier);
  const provider = oneId(query, "providerIdpId");
  if (provider !== null) add(USERS_OF_PROVIDER_SQL, provider);
  const home = oneId(query, "globalDomainId");
  if (home !== null) add("SELECT u.pk FROM users u JOIN domains d ON d.pk = u.domain_pk WHERE d.id = ?", home);
  if (textParameter(query, "excludeScim") === "true") {
    add("SELECT pk FROM users WHERE NOT EXISTS (SELECT 1 FROM scim_group_members m WHERE m.user_pk = users.pk)");
  }
  const [first, ...others] = found;
  if (!first) return null;
  const sets = others.map((pks) => new Set(pks));
  return first.filter((pk) => sets.every((set) => set.has(pk)));
}

/** Users of an existing external provider belong to it, all others to the built-in provider. */
const USERS_OF_PROVIDER_SQL = `SELECT u.pk FROM users u
  LEFT JOIN identity_providers p ON p.id = substr(u.provider_key, 1, instr(u.provider_key, ' ') - 1)
  WHERE COALESCE(p.id, (SELECT id FROM identity_providers WHERE type = 'built-in')) = ?`;
