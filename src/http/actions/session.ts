import { buildSessionCookie } from "../../auth/session-cookie.ts";
import { describeSession, revokeSession } from "../../auth/sessions.ts";
import { listAvailableDomains } from "../../permissions/available-domains.ts";
import { FEATURES } from "../../resources/devices/features.ts";
import { boolean, computed, integer, list, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, deletedResponse, jsonResponse } from "../action.ts";

const FEATURE = option("A feature.", FEATURES);
const SESSION = {
  accessToken: text("The token that was presented; null for a session of the console.", { max: 512 }),
  userId: uuid("User who holds it.", { required: true }),
  providerId: uuid("Identity provider."),
  providerName: text("Its name."),
  providerDisplayName: text("own choice: the organisation's name where its branding has one, else the provider's."),
  providerExpiration: timestamp("own choice: when the licence ends; null = never."),
  logOutPath: text("Where a browser goes after the session's end, to log out at the provider; null where it need not."),
  email: text("The user's address."),
  name: text("The user's name.", { required: true }),
  isOnprem: boolean("True on an appliance.", { required: true }),
  isLicenseValid: boolean("State of the licence.", { required: true }),
  idleTimeout: integer("How long a session may stay unused.", { required: true, unit: "min" }),
  idleTimeoutCustom: boolean("Whether that is the user's own.", { required: true }),
  features: list("What clients can count on here and now.", FEATURE, { required: true }),
  serverSupportedFeatures: list("own choice: what could be switched on.", FEATURE, { required: true }),
  permissions: list("What may be done with it.", option("Method.", ["get", "delete"]), { required: true }),
};

const DOMAINS = {
  actingDomainId: uuid("Domain that the request acts in."),
  data: computed("Domains.", "array", {
    of: {
      id: uuid("Its id.", { required: true }),
      name: text("Its name.", { required: true }),
      namePath: text("Names from the root down to it.", { required: true, max: 30_000 }),
    },
  }),
};

/**
 * Whose token it is, where it may act, and giving it back. own choice: `session/domains`.
 * @source service-api.md, Session; decisions.md 3
 */
export const sessionActions: readonly Action[] = [
  {
    method: "get",
    at: "session",
    doc: "Whose token or session it is.",
    response: { kind: "members", fields: SESSION },
    permission: "anyone",
    async handle({ needs, principal }) {
      const isLicenseValid = needs.licence.isValid();
      const session = describeSession(needs.store, needs.access, principal);
      const providerExpiration = needs.licence.state().licence?.expiresAt ?? null;
      return jsonResponse({ ...session, providerExpiration, isLicenseValid, permissions: ["get", "delete"] });
    },
  },
  {
    method: "get",
    at: "session/domains",
    doc: "The domains in which the user may act, by their names, and the one that this request acts in.",
    response: { kind: "members", fields: DOMAINS },
    permission: "anyone",
    async handle({ needs, principal, by }) {
      const data = await listAvailableDomains(principal, needs);
      return jsonResponse({ actingDomainId: by.scope.domainId, data });
    },
  },
  {
    method: "delete",
    at: "session",
    doc: "Ends the session, or revokes the token.",
    response: { kind: "deletion" },
    permission: "anyone",
    async handle({ needs, principal, by, secure }) {
      const answer = deletedResponse(await revokeSession(needs.store, principal, by));
      if (principal.accessToken !== null) return answer;
      return { ...answer, headers: { "Set-Cookie": buildSessionCookie(null, secure) } };
    },
  },
];
