import type { OwnerProof } from "../../auth/login.ts";
import { relyingPartyOf } from "../../auth/relying-party.ts";
import { buildSessionCookie } from "../../auth/session-cookie.ts";
import { describeSession, revokeSession } from "../../auth/sessions.ts";
import { ConflictError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { listAvailableDomains } from "../../permissions/available-domains.ts";
import { FEATURES } from "../../resources/devices/features.ts";
import { boolean, computed, integer, list, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, deletedResponse, jsonResponse } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";
import { COMPUTED_PAGE_MEMBERS, COMPUTED_PAGE_QUERY, computedPage } from "./computed-page.ts";
import { PASSKEY_FIELD, REQUEST_OPTIONS } from "./passkey-field.ts";

const FEATURE = option("A feature.", FEATURES);
const SESSION = {
  accessToken: text("The presented token; null for a console session.", { max: 512 }),
  userId: uuid("Id of the user.", { required: true }),
  providerId: uuid("Identity provider."),
  providerName: text("Name of the identity provider."),
  providerDisplayName: text("Company name of the branding, otherwise the name of the provider."),
  providerExpiration: timestamp("Expiry of the licence; null means never."),
  logOutPath: text("Path for logging out at the identity provider after the session; null if not needed."),
  email: text("Email address of the user."),
  name: text("Name of the user.", { required: true }),
  isOnprem: boolean("True on an appliance.", { required: true }),
  isLicenseValid: boolean("Whether the licence is valid.", { required: true }),
  idleTimeout: integer("Idle timeout of the session.", { required: true, unit: "min" }),
  idleTimeoutCustom: boolean("Whether the idle timeout is set for the user.", { required: true }),
  mustSetUpSecondFactor: boolean(
    "The session allows nothing but to set up a second factor, which a security group of the user requires.",
    { required: true },
  ),
  features: list("Available features.", FEATURE, { required: true }),
  serverSupportedFeatures: list("Features that can be enabled.", FEATURE, { required: true }),
  permissions: list("Permissions on the session.", option("Method.", ["get", "delete"]), { required: true }),
};

const CONFIRMATION = {
  currentPassword: text("Current password; or give `code` or `passkey`.", { max: 1_024 }),
  code: text("Code of the authenticator app, or a recovery code.", { max: 64 }),
  passkey: { ...PASSKEY_FIELD, required: false as const },
};
const validateConfirmation = compileBodyValidator(CONFIRMATION);

const DOMAINS = {
  ...COMPUTED_PAGE_MEMBERS,
  actingDomainId: uuid("Domain that the request acts in."),
  data: computed("Domains.", "array", {
    of: {
      id: uuid("Id.", { required: true }),
      name: text("Name.", { required: true }),
      namePath: text("Names from the root down to the domain.", { required: true, max: 30_000 }),
    },
  }),
};

/**
 * The current session, its domains, and logout.
 * @source docs/decisions/0003-authentication.md; docs/decisions/0042-api-contract.md
 */
export const sessionActions: readonly Action[] = [
  {
    method: "get",
    at: "session",
    doc: "Returns the current session: user, licence and features.",
    response: { kind: "members", fields: SESSION },
    permission: "anyone",
    async handle({ deps, principal }) {
      const isLicenseValid = deps.licence.isValid();
      const session = describeSession(deps.store, deps.access, principal);
      const providerExpiration = deps.licence.state().licence?.expiresAt ?? null;
      return jsonResponse({ ...session, providerExpiration, isLicenseValid, permissions: ["get", "delete"] });
    },
  },
  {
    method: "get",
    at: "session/domains",
    doc: "Lists the domains in which the user may act, by name, and the acting domain of the request.",
    response: { kind: "members", fields: DOMAINS },
    query: COMPUTED_PAGE_QUERY,
    permission: "anyone",
    async handle({ deps, principal, by, query }) {
      const page = computedPage(await listAvailableDomains(principal, deps), query);
      return jsonResponse({ actingDomainId: by.scope.domainId, ...page });
    },
  },
  {
    method: "post",
    at: "session/passkey-options",
    doc: "Returns the options with which the browser signs with a passkey of the user, for `session/confirmation`.",
    response: REQUEST_OPTIONS,
    permission: "anyone",
    async handle({ deps, principal, header }) {
      const party = relyingPartyOf(deps.settings.api.publicUrl, header("host"));
      const purpose = { act: "confirmation", userId: principal.userId } as const;
      return jsonResponse(await deps.signIn.passkeys.requestOptions(purpose, party));
    },
  },
  {
    method: "post",
    at: "session/confirmation",
    doc: "Confirms that the user of a console session is there, with the password, a code of a second factor or a passkey. Changes of whom the appliance trusts need it every few minutes (`auth.confirmationMinutes`).",
    response: { kind: "nothing" },
    permission: "anyone",
    accepts: CONFIRMATION,
    async handle({ deps, principal, by, body, header }) {
      const { passkey, ...given } = validateConfirmation(body) as unknown as Omit<OwnerProof, "passkey"> & {
        passkey: unknown;
      };
      if (principal.provenAt === undefined)
        throw new ConflictError(sentence("conflict.only-console-sessions-can-be-confirmed"));
      const party = () => relyingPartyOf(deps.settings.api.publicUrl, header("host"));
      const proof = passkey === null ? given : { ...given, passkey: { party: party(), response: passkey } };
      await deps.signIn.confirmSession(principal, proof, by);
      return { status: 204, body: null };
    },
  },
  {
    method: "delete",
    at: "session",
    doc: "Ends the session, or revokes the token.",
    response: { kind: "deletion" },
    permission: "anyone",
    async handle({ deps, principal, by, secure }) {
      const response = deletedResponse(await revokeSession(deps.store, principal, by));
      if (principal.accessToken !== null) return response;
      return { ...response, headers: { "Set-Cookie": buildSessionCookie(null, secure) } };
    },
  },
];
