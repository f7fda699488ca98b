import { derivedId } from "../../lib/ids.ts";
import { compileGrants } from "../../permissions/grants.ts";
import { listUserGrants } from "../../permissions/permission-explanation.ts";
import { TIME_ZONES } from "../../resources/bells/time-zones.ts";
import users from "../../resources/people/users.ts";
import { option, text, uuid } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Method, RowOf } from "../../schema/resource.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const CHANGE = {
  name: text("What others call the user.", { min: 1, max: 140 }),
  preferredLanguage: users.fields.preferredLanguage,
  preferredName: text("What the user wants to be called; null takes the name.", { max: 140 }),
  preferredTimezone: option("Zone in which the user wants times to be shown.", TIME_ZONES),
};
const PROFILE = { userId: uuid("The user.", { required: true }), ...CHANGE };
const validateProfile = compileBodyValidator(CHANGE);
/** Members that the row of a user does not show. */
const SELF_ONLY_MEMBERS: ReadonlySet<string> = new Set(["preferredName", "preferredTimezone"]);

/** What a member of each set may do that others may not. own choice: the sets are told from what the user may do. */
const PERMISSION_SETS: readonly { name: string; needs: readonly [Method, string][] }[] = [
  { name: "admin", needs: [] },
  {
    name: "local-admin",
    needs: [
      ["post", "/users"],
      ["post", "/security-groups"],
    ],
  },
  { name: "notification-sender", needs: [["post", "/notifications"]] },
  {
    name: "notification-manager",
    needs: [
      ["post", "/notifications"],
      ["post", "/message-templates"],
    ],
  },
  {
    name: "bell-schedule-manager",
    needs: [
      ["post", "/bell-schedules"],
      ["post", "/ring-lists"],
    ],
  },
  {
    name: "incident-manager",
    needs: [
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

/** How people want to be addressed, and what they may do in few words. @source digest `/v1/users/{userId}/profile`, `…/all-permission-sets` */
export const userProfileActions: readonly Action[] = [
  {
    method: "get",
    at: "users/{userId}/profile",
    doc: "How a user wants to be addressed.",
    response: { kind: "members", fields: PROFILE },
    handle: async (request) => jsonResponse(profileOf(requireVisibleRow(request, users, request.params.userId ?? ""))),
  },
  {
    method: "put",
    at: "users/{userId}/profile",
    doc: "Changes how a user wants to be addressed; everybody may change the own.",
    accepts: CHANGE,
    response: { kind: "members", fields: PROFILE },
    async handle(request) {
      const { params, needs, by, body } = request;
      const user = requireVisibleRow(request, users, params.userId ?? "");
      const checked = validateProfile(body);
      const given = Object.fromEntries(Object.entries(checked).filter(([member]) => Object.hasOwn(body, member)));
      const isOwn = ([member]: [string, unknown]): boolean => SELF_ONLY_MEMBERS.has(member);
      const input = Object.fromEntries(Object.entries(given).filter((entry) => !isOwn(entry)));
      const own = Object.fromEntries(Object.entries(given).filter(isOwn));
      return jsonResponse(profileOf(await needs.store.update(users, user.id, input, by, own)));
    },
  },
  {
    method: "get",
    at: "users/{userId}/all-permission-sets",
    doc: "What the user may do, in few words.",
    response: { kind: "json", schema: PAGE },
    async handle(request) {
      const user = requireVisibleRow(request, users, request.params.userId ?? "");
      const grants = listUserGrants(request.needs.store, user, request.by.scope);
      const isSuper = grants.some(({ verb }) => verb === "*");
      const { allows } = compileGrants(
        grants.flatMap(({ verb, spec }) => (verb === "*" ? [] : [{ verb: verb as Method, spec }])),
      );
      const data = PERMISSION_SETS.filter(
        ({ needs }) => isSuper || (needs.length > 0 && needs.every(([verb, path]) => allows(verb, path))),
      );
      const named = data.map(({ name }) => ({ id: derivedId("permission-set", name), name }));
      return jsonResponse({ total: named.length, partial: false, previous: null, next: null, data: named });
    },
  },
];

function profileOf({ id, name, preferredLanguage, preferredName, preferredTimezone }: RowOf<typeof users>): object {
  return { userId: id, name, preferredLanguage, preferredName, preferredTimezone };
}
