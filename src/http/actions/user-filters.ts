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

const EXCLUDE_SCIM = { excludeScim: boolean("Leaves out who is in a group of a directory.") };
const USER_QUERY = {
  areaOfInterestId: uuid(
    "Area that they are inside of now. own choice: nobody is inside one that the caller does not see, nor with a device that it does not.",
  ),
  deviceType: text("Type of a device that they have registered and the caller sees."),
  deviceIdentifier: text("Identifier of a device that they have registered and the caller sees, without case."),
  providerIdpId: uuid("Identity provider that vouches for them; the built-in one for those whom no other knows."),
  globalDomainId: uuid("own choice: their home domain, whatever others they are in."),
  ...EXCLUDE_SCIM,
};
const ACTING = "actingDomainId";
const USER_QUERY_WITH_DOMAIN = {
  ...USER_QUERY,
  [ACTING]: uuid("own choice: lists whom somebody sees who acts in this domain; the caller may act there."),
};
const USER_DEVICE_QUERY = {
  licensed: boolean("own choice: those that count as licensed, as their owner's account does, or only the others."),
};

const DEVICES = {
  resource: userDevices,
  path: canonicalPath(userDevices),
  parents: ["userId"],
  idName: userDevices.idParam,
};

/** Users and their devices narrowed by what is no field of their rows. @source digest `/v1/users`, `/v1/users/{userId}/devices` */
export const userFilterActions: readonly Action[] = [
  {
    method: "get",
    at: "users",
    doc: "Lists users.",
    query: USER_QUERY_WITH_DOMAIN,
    response: { kind: "list", resource: users },
    async handle(request) {
      const { needs, query, principal, by } = request;
      const domain = oneId(query, ACTING);
      const scope = domain === null ? by.scope : needs.access.resolveScope(principal, domain, ACTING);
      const pks = matchingUserKeys(needs.store, query, scope);
      const asked = Object.keys(USER_QUERY).map((name) => query[name] ?? null);
      const restriction = pks === null ? {} : { pks, pksOf: JSON.stringify(asked) };
      return request.respondWithList(users, restriction, scope);
    },
  },
  {
    method: "get",
    at: "users/{userId}",
    doc: "Shows one.",
    query: {
      excludeScim: boolean("own choice: shows the groups that the user is in by itself, not by a directory's."),
    },
    response: { kind: "row", resource: users },
    isVisible: ({ params, needs }, scope) => needs.store.get(users, params.userId ?? "", scope) !== null,
    handle: async (request) =>
      request.respondWithRow(users, requireVisibleRow(request, users, request.params.userId ?? "")),
  },
  {
    method: "get",
    at: "users/{userId}/devices",
    doc: "Lists what the caller may see.",
    query: USER_DEVICE_QUERY,
    response: { kind: "list", resource: userDevices },
    async handle(request) {
      requireParents(DEVICES, request);
      const { userId = "" } = request.params;
      const licensed = textParameter(request.query, "licensed");
      const isLicensed = request.needs.store.get(users, userId)?.isLicensed;
      const fits = licensed === null || isLicensed === (licensed === "true");
      return request.respondWithList(userDevices, { within: { userId }, ...(fits ? {} : { ids: [] }) });
    },
  },
];

function oneId(query: Query, name: string): string | null {
  return idListParameter(query, name)?.[0]?.toLowerCase() ?? null;
}

/**
 * Internal keys of the users that all conditions mean; null without any. What devices and areas are searched by is told
 * of those alone that `sight` shows: else whoever lists users could try out numbers, addresses and places.
 */
function matchingUserKeys(reader: StoreReader, query: Query, sight: RowVisibility): number[] | null {
  const found: number[][] = [];
  const add = (sql: string, ...values: SqlValue[]): void =>
    void found.push(reader.all<{ pk: number }>(sql, ...values).map(({ pk }) => pk));
  const seen = buildVisibilitySql(sight.visible(userDevices));
  const ofDevices = (condition: string, value: string): void =>
    add(
      `SELECT DISTINCT t.user_pk AS pk FROM user_devices t WHERE ${condition} AND ${seen.sql}`,
      value,
      ...seen.params,
    );

  const area = oneId(query, "areaOfInterestId");
  if (area !== null) {
    const known = reader.get(areasOfInterest, area, sight);
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

/** Those whom a provider that is there vouches for are its own, all others the built-in one's. */
const USERS_OF_PROVIDER_SQL = `SELECT u.pk FROM users u
  LEFT JOIN identity_providers p ON p.id = substr(u.provider_key, 1, instr(u.provider_key, ' ') - 1)
  WHERE COALESCE(p.id, (SELECT id FROM identity_providers WHERE type = 'built-in')) = ?`;
