import { findBrandingRow, readBranding } from "../../auth/branding.ts";
import type { LoginCredentials } from "../../auth/login.ts";
import { PASSWORD_MAX_LENGTH } from "../../auth/new-passwords.ts";
import { type RelyingParty, relyingPartyOf } from "../../auth/relying-party.ts";
import { buildSessionCookie } from "../../auth/session-cookie.ts";
import { notFound, requiredValue } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import factors from "../../resources/people/second-factors.ts";
import { boolean, computed, integer, list, object, option, text, uuid } from "../../schema/field.ts";
import type { Action, PublicRequest } from "../action.ts";
import { jsonResponse } from "../action.ts";
import { fileResponse } from "../file-response.ts";
import { assertSameOrigin, authenticateSession } from "../session-auth.ts";
import { compileBodyValidator } from "./body-validator.ts";
import { PASSKEY_FIELD, REQUEST_OPTIONS } from "./passkey-field.ts";
import { completeLogin, logInWithPasskey, logInWithPassword, passkeyOptionsOfTicket } from "./password-login.ts";

const email = text("Email address of the account.", { required: true, max: 254 });
const password = text("Password of the account.", { required: true, max: 1_024 });
const newPassword = text("New password, for users who must set one.", { max: PASSWORD_MAX_LENGTH });
const firstPassword = text("Password of the administrator.", { required: true, max: PASSWORD_MAX_LENGTH });
const code = text("The one-time code.", { required: true, max: 64 });
const factorCode = text("Code of the authenticator app, or a recovery code; or give `passkey`.", { max: 64 });
const name = text("Display name of the administrator.", { max: 140 });

const SECOND_FACTOR = option("Kind.", factors.fields.kind.values);

const PROVIDER_LINK = {
  id: uuid("Id of the identity provider; `/api/log-in/{id}` redirects to it.", { required: true }),
  name: text("Label of the login button.", { required: true }),
};

const SETUP_STATE = {
  needed: boolean("True while no administrator exists.", { required: true }),
  loggedIn: boolean("True if the request has a valid session cookie.", { required: true }),
  doors: computed("Identity providers with their own login page, by name.", "array", { of: PROVIDER_LINK }),
  takesPasswords: boolean("Password login is available to all users, not only to break-glass accounts.", {
    required: true,
  }),
  takesLoginNames: boolean("An LDAP directory is used; login names may differ from email addresses.", {
    required: true,
  }),
  mailsPasswordLinks: boolean("A forgotten password can be replaced by mail: a mail server is set up.", {
    required: true,
  }),
  passwordMinLength: integer("Minimum length of new passwords in characters.", { required: true }),
  branding: object("Branding of the organisation.", {
    companyName: text("Name of the organisation."),
    companyEmail: text("Contact email address.", { max: 254 }),
    companyPhone: text("Contact phone number.", { max: 40 }),
    customUrl: text("URL of the organisation's help pages.", { max: 256 }),
    logoUrl: text("URL of the logo; null without one."),
    logoAltText: text("Alternative text of the logo."),
    primaryColor: text("Primary colour."),
    secondaryColor: text("Secondary colour."),
  }),
};

const validateLogin = compileBodyValidator({ email, password, newPassword });
const FACTOR = { code: factorCode, passkey: { ...PASSKEY_FIELD, required: false as const } };
const resetToken = text("Token of the mailed link.", { required: true, max: 400 });
const resetPassword = text("New password.", { required: true, max: PASSWORD_MAX_LENGTH });
const validateResetRequest = compileBodyValidator({ email });
const validateReset = compileBodyValidator({ token: resetToken, password: resetPassword });
const validateFactor = compileBodyValidator(FACTOR);
const validatePasskey = compileBodyValidator({ passkey: PASSKEY_FIELD });
const validateSetup = compileBodyValidator({ code, email, password: firstPassword, name });

/** Login, first-run setup, and the state of both. @source docs/decisions/0021-login-and-drills.md */
export const loginActions: readonly Action[] = [
  {
    method: "post",
    at: "login",
    outsideVersion: true,
    doc: "Starts a console session and sets the session cookie (204). For a user with a second factor it sets the cookie of a ticket instead (200), with which `POST /api/login/second-factor` must follow within five minutes.",
    response: {
      kind: "members",
      fields: {
        secondFactors: list("Second factors of the user: one of them is needed.", SECOND_FACTOR, { required: true }),
      },
      orNothing: true,
    },
    permission: "open",
    accepts: { email, password, newPassword },
    async handle(request) {
      assertSameOrigin(request);
      const account = validateLogin(request.body) as unknown as LoginCredentials;
      const { cookies, secondFactors } = await logInWithPassword(account, request);
      if (secondFactors) return { ...jsonResponse({ secondFactors }), cookies };
      return { status: 204, cookies, body: null };
    },
  },
  {
    method: "post",
    at: "login/second-factor",
    outsideVersion: true,
    doc: "Completes a log-in with a code of a second factor or with a passkey, and sets the session cookie. A ticket takes five wrong codes.",
    response: { kind: "nothing" },
    permission: "open",
    accepts: FACTOR,
    async handle(request) {
      assertSameOrigin(request);
      const given = validateFactor(request.body) as { code: string | null; passkey: unknown };
      if (given.code === null && given.passkey === null) throw requiredValue("code");
      const proof = given.code ?? { party: partyOf(request), response: given.passkey };
      return { status: 204, cookies: await completeLogin(proof, request), body: null };
    },
  },
  {
    method: "post",
    at: "login/second-factor/passkey-options",
    outsideVersion: true,
    doc: "Returns the options with which the browser signs with a passkey of the user whose password was right, for `login/second-factor`.",
    response: REQUEST_OPTIONS,
    permission: "open",
    async handle(request) {
      assertSameOrigin(request);
      return jsonResponse(await passkeyOptionsOfTicket(partyOf(request), request));
    },
  },
  {
    method: "post",
    at: "login/passkey-options",
    outsideVersion: true,
    doc: "Returns the options with which the browser signs with any passkey for this host, for `login/passkey`.",
    response: REQUEST_OPTIONS,
    permission: "open",
    async handle(request) {
      assertSameOrigin(request);
      return jsonResponse(await request.deps.signIn.passkeys.requestOptions({ act: "log-in" }, partyOf(request)));
    },
  },
  {
    method: "post",
    at: "login/passkey",
    outsideVersion: true,
    doc: "Starts a console session with a passkey instead of a password, and sets the session cookie. The authenticator must have verified the user by PIN or biometrics.",
    response: { kind: "nothing" },
    permission: "open",
    accepts: { passkey: PASSKEY_FIELD },
    async handle(request) {
      assertSameOrigin(request);
      const { passkey } = validatePasskey(request.body);
      const proof = { party: partyOf(request), response: passkey };
      return { status: 204, cookies: await logInWithPasskey(proof, request), body: null };
    },
  },
  {
    method: "post",
    at: "login/forgotten-password",
    outsideVersion: true,
    doc: "Mails a link to set a new password, if there is an account with this address whose password Carillon keeps. The response is the same whether there is one or not. 409 without a mail server.",
    response: { kind: "nothing" },
    permission: "open",
    accepts: { email },
    async handle(request) {
      assertSameOrigin(request);
      const given = validateResetRequest(request.body) as { email: string };
      request.deps.passwordReset.request(given.email, request.address);
      return { status: 204, body: null };
    },
  },
  {
    method: "post",
    at: "login/password",
    outsideVersion: true,
    doc: "Sets a new password with a mailed link, which is good once and for 30 minutes, and ends the user's sessions and application grants. It does not log in; a second factor is still needed for that.",
    response: { kind: "nothing" },
    permission: "open",
    accepts: { token: resetToken, password: resetPassword },
    async handle(request) {
      assertSameOrigin(request);
      const given = validateReset(request.body) as { token: string; password: string };
      await request.deps.passwordReset.complete(given.token, given.password, request.address);
      return { status: 204, body: null };
    },
  },
  {
    method: "get",
    at: "setup",
    outsideVersion: true,
    doc: "Returns whether the appliance needs its first administrator and whether the caller has a session.",
    response: { kind: "members", fields: SETUP_STATE },
    permission: "open",
    handle: async (request) => {
      const { deps } = request;
      const { logoSha, ...shown } = readBranding(deps.store);
      const branding = { ...shown, logoUrl: logoSha && `/api/branding/logo?v=${logoSha.slice(0, 16)}` };
      const loggedIn = authenticateSession(request, deps.access) !== null;
      const { taken: takesPasswords, directory: takesLoginNames } = deps.identity.passwordLoginOptions();
      const { passwordMinLength } = deps.settings.auth;
      const ways = { doors: deps.identity.loginOptions(), takesPasswords, takesLoginNames, passwordMinLength };
      const mailsPasswordLinks = takesPasswords && deps.passwordReset.isAvailable();
      return jsonResponse({ needed: deps.firstRun.needed(), loggedIn, ...ways, mailsPasswordLinks, branding });
    },
  },
  {
    method: "get",
    at: "branding/logo",
    outsideVersion: true,
    doc: "Returns the logo of the organisation.",
    response: { kind: "bytes", types: ["image/png", "image/jpeg"] },
    permission: "open",
    async handle({ deps: { store } }) {
      const logo = findBrandingRow(store)?.logo;
      if (!logo) throw notFound();
      return fileResponse(logo, store.files);
    },
  },
  {
    method: "post",
    at: "setup",
    outsideVersion: true,
    doc: "Creates the administrator of a new appliance and starts a session.",
    response: { kind: "nothing" },
    permission: "open",
    accepts: { code, email, password: firstPassword, name },
    async handle(request) {
      assertSameOrigin(request);
      const given = validateSetup(request.body) as {
        code: string;
        email: string;
        password: string;
        name: string | null;
      };
      return sessionResponse(await request.deps.firstRun.setUp(given, request.address), request.secure);
    },
  },
];

function partyOf({ deps, header }: Pick<PublicRequest, "deps" | "header">): RelyingParty {
  return relyingPartyOf(deps.settings.api.publicUrl, header("host"));
}

function sessionResponse(token: string, secure: boolean): HttpResponse {
  return { status: 204, headers: { "Set-Cookie": buildSessionCookie(token, secure) }, body: null };
}
