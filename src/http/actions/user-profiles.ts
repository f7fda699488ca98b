import { derivedId } from "../../lib/ids.ts";
import { compileGrants } from "../../permissions/grants.ts";
import { listUserGrants } from "../../permissions/permission-explanation.ts";
import { TIME_ZONES } from "../../resources/bells/time-zones.ts";
import { ZONES_OF_WINDOWS_NAMES } from "../../resources/bells/windows-zones.ts";
import users from "../../resources/people/users.ts";
import { option, text, uuid } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Method, RowOf } from "../../schema/resource.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const CHANGE = {
  name: text("Display name.", { min: 1, max: 140 }),
  preferredLanguage: users.fields.preferredLanguage,
  preferredName: text("Preferred name; null means the display name.", { max: 140 }),
  preferredTimezone: option("Preferred time zone.", TIME_ZONES, { otherNames: ZONES_OF_WINDOWS_NAMES }),
};
const PROFILE = { userId: uuid("Id of the user.", { required: true }), ...CHANGE };
const validateProfile = compileBodyValidator(CHANGE);
/** Fields that are not part of the user representation. */
const SELF_ONLY_MEMBERS: ReadonlySet<string> = new Set(["preferredName", "preferredTimezone"]);

/** Named permission sets and the permissions that define them. */
const PERMISSION_SETS: readonly { name: string; requires: readonly [Method, string][] }[] = [
  { name: "admin", requires: [] },
  {
    name: "local-admin",
    requires: [
      ["post", "/users"],
      ["post", "/security-groups"],
    ],
  },
  { name: "notification-sender", requires: [["post", "/notifications"]] },
  {
    name: "notification-manager",
    requires: [
      ["post", "/notifications"],
      ["post", "/message-templates"],
    ],
  },
  {
    name: "bell-schedule-manager",
    requires: [
      ["post", "/bell-schedules"],
      ["post", "/ring-lists"],
    ],
  },
  {
    name: "incident-manager",
    requires: [
      ["post", "/incidents"],
      ["post", "/incident-plans"],
    ],
  },
];
const TEXT: JsonSchema = { type: "string" };
const SET: JsonSchema = {
  type: "object",
  required: ["id", "name"],
  properties: { id: TEXT, name: { ...TEXT, enum: PERMISSION_SETS.map(({ name }) => name) } },
  additionalProperties: false,
};
const NULL: JsonSchema = { type: "null" };
const PAGE: JsonSchema = {
  type: "object",
  required: ["total", "partial", "previous", "next", "data"],
  properties: {
    total: { type: "integer" },
    partial: { type: "boolean" },
    previous: NULL,
    next: NULL,
    data: { type: "array", items: SET },
  },
  additionalProperties: false,
};

/**
 * Profile settings and permission sets of a user.
 * @source docs/decisions/0042-api-contract.md, `/v1/users/{userId}/profile`
 */
export const userProfileActions: readonly Action[] = [
  {
    method: "get",
    at: "users/{userId}/profile",
    doc: "Returns the profile of a user: preferred name, language and time zone.",
    response: { kind: "members", fields: PROFILE },
    handle: async (request) => jsonResponse(profileOf(requireVisibleRow(request, users, request.params.userId ?? ""))),
  },
  {
    method: "put",
    at: "users/{userId}/profile",
    doc: "Updates the profile of a user; every user may change their own.",
    accepts: CHANGE,
    response: { kind: "members", fields: PROFILE },
    async handle(request) {
      const { params, deps, by, body } = request;
      const user = requireVisibleRow(request, users, params.userId ?? "");
      const checked = validateProfile(body);
      const given = Object.fromEntries(Object.entries(checked).filter(([member]) => Object.hasOwn(body, member)));
      const isOwn = ([member]: [string, unknown]): boolean => SELF_ONLY_MEMBERS.has(member);
      const input = Object.fromEntries(Object.entries(given).filter((entry) => !isOwn(entry)));
      const own = Object.fromEntries(Object.entries(given).filter(isOwn));
      return jsonResponse(profileOf(await deps.store.update(users, user.id, input, by, own)));
    },
  },
  {
    method: "get",
    at: "users/{userId}/all-permission-sets",
    doc: "Lists the permission sets of the user.",
    response: { kind: "json", schema: PAGE },
    async handle(request) {
      const user = requireVisibleRow(request, users, request.params.userId ?? "");
      const grants = listUserGrants(request.deps.store, user, request.by.scope);
      const isSuper = grants.some(({ verb }) => verb === "*");
      const { allows } = compileGrants(
        grants.flatMap(({ verb, spec }) => (verb === "*" ? [] : [{ verb: verb as Method, spec }])),
      );
      const data = PERMISSION_SETS.filter(
        ({ requires }) => isSuper || (requires.length > 0 && requires.every(([verb, path]) => allows(verb, path))),
      );
      const named = data.map(({ name }) => ({ id: derivedId("permission-set", name), name }));
      return jsonResponse({ total: named.length, partial: false, previous: null, next: null, data: named });
    },
  },
];

function profileOf({ id, name, preferredLanguage, preferredName, preferredTimezone }: RowOf<typeof users>): object {
  return { userId: id, name, preferredLanguage, preferredName, preferredTimezone };
}
