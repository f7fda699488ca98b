import { findBrandingRow, readBranding } from "../../auth/branding.ts";
import type { LoginCredentials } from "../../auth/login.ts";
import { buildSessionCookie } from "../../auth/session-cookie.ts";
import { notFound } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { boolean, computed, object, text, uuid } from "../../schema/field.ts";
import type { Action } from "../action.ts";
import { jsonResponse } from "../action.ts";
import { fileResponse } from "../file-response.ts";
import { assertSameOrigin, authenticateSession } from "../session-auth.ts";
import { compileBodyValidator } from "./body-validator.ts";

const email = text("Address of the account.", { required: true, max: 254 });
const password = text("The account's password.", { required: true, max: 1_024 });
const newPassword = text("The password from now on, asked of those who must set a new one.", { max: 1_024 });
const code = text("The one-time code.", { required: true, max: 64 });
const name = text("What others call the administrator.", { max: 140 });

const PROVIDER_LINK = {
  id: uuid("Id of the identity provider; `/api/log-in/{id}` leads there.", { required: true }),
  name: text("What its button says.", { required: true }),
};

const SETUP_STATE = {
  needed: boolean("True while there is no administrator.", { required: true }),
  loggedIn: boolean("True when the cookie holds a session.", { required: true }),
  doors: computed("Identity providers with log-in pages of their own, by their names.", "array", { of: PROVIDER_LINK }),
  takesPasswords: boolean("Addresses and passwords are taken of everybody, not of break-glass accounts alone.", {
    required: true,
  }),
  takesLoginNames: boolean("A directory is asked, in which people may be called by other names than addresses.", {
    required: true,
  }),
  branding: object("How the organisation shows itself.", {
    companyName: text("Name of the organisation."),
    companyEmail: text("Address that people may write to.", { max: 254 }),
    companyPhone: text("Number that people may call.", { max: 40 }),
    customUrl: text("Help pages of the organisation.", { max: 256 }),
    logoUrl: text("Where the logo lies; null without one."),
    logoAltText: text("The logo in words."),
    primaryColor: text("First colour."),
    secondaryColor: text("Second colour."),
  }),
};

const validateLogin = compileBodyValidator({ email, password, newPassword });
const validateSetup = compileBodyValidator({ code, email, password, name });

/** The two ways into the console, whether it waits for its administrator, and whether the caller is in already. @source interfaces.md, Log-in and drill */
export const loginActions: readonly Action[] = [
  {
    method: "post",
    at: "login",
    outsideVersion: true,
    doc: "Begins a session of the console, held by a cookie.",
    response: { kind: "nothing" },
    permission: "open",
    accepts: { email, password, newPassword },
    async handle(request) {
      assertSameOrigin(request);
      const account = validateLogin(request.body) as unknown as LoginCredentials;
      return sessionResponse(await request.needs.signIn.loginWithPassword(account, request.address), request.secure);
    },
  },
  {
    method: "get",
    at: "setup",
    outsideVersion: true,
    doc: "Whether the appliance waits for its administrator, and whether the caller is in already.",
    response: { kind: "members", fields: SETUP_STATE },
    permission: "open",
    handle: async (request) => {
      const { needs } = request;
      const { logoSha, ...shown } = readBranding(needs.store);
      const branding = { ...shown, logoUrl: logoSha && `/api/branding/logo?v=${logoSha.slice(0, 16)}` };
      const loggedIn = authenticateSession(request, needs.access) !== null;
      const { taken: takesPasswords, directory: takesLoginNames } = needs.identity.passwordLoginOptions();
      const ways = { doors: needs.identity.loginOptions(), takesPasswords, takesLoginNames };
      return jsonResponse({ needed: needs.firstRun.needed(), loggedIn, ...ways, branding });
    },
  },
  {
    method: "get",
    at: "branding/logo",
    outsideVersion: true,
    doc: "The logo of the organisation.",
    response: { kind: "bytes", types: ["image/png", "image/jpeg"] },
    permission: "open",
    async handle({ needs: { store } }) {
      const logo = findBrandingRow(store)?.logo;
      if (!logo) throw notFound();
      return fileResponse(logo, store.files);
    },
  },
  {
    method: "post",
    at: "setup",
    outsideVersion: true,
    doc: "Makes the administrator of a new appliance and begins a session.",
    response: { kind: "nothing" },
    permission: "open",
    accepts: { code, email, password, name },
    async handle(request) {
      assertSameOrigin(request);
      const given = validateSetup(request.body) as {
        code: string;
        email: string;
        password: string;
        name: string | null;
      };
      return sessionResponse(await request.needs.firstRun.setUp(given, request.address), request.secure);
    },
  },
];

function sessionResponse(token: string, secure: boolean): HttpResponse {
  return { status: 204, headers: { "Set-Cookie": buildSessionCookie(token, secure) }, body: null };
}
