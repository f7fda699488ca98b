import { readBranding } from "../../auth/branding.ts";
import { buildSessionCookie } from "../../auth/session-cookie.ts";
import { invalidValue, notFound } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { text } from "../../schema/field.ts";
import { buildLoginCookie, readLoginCookie } from "../../sso/login-cookie.ts";
import { LoginError } from "../../sso/login-error.ts";
import { LOGIN_TIMEOUT_MS } from "../../sso/pending-login.ts";
import type { BrowserContext, LoginSession } from "../../sso/redirect-login.ts";
import { type LoginMessages, loginMessages } from "../../web-pages/login-messages.ts";
import { renderContinuePage, renderLoginErrorPage } from "../../web-pages/login-page.ts";
import type { Action, PublicRequest } from "../action.ts";
import { textParameter } from "../query/query.ts";

const AT = "log-in/{identityProviderId}";
const PAGE = { kind: "page" } as const;
/** Maximum length of a SAML response. */
const PROVIDER_RESPONSE = { max: 500_000 } as const;
/** Parameters of the OpenID Connect callback. @source OpenID Connect Core 1.0 §3.1.2.5; RFC 9207 §2 */
const CALLBACK_PARAMETERS = ["code", "state", "iss", "error"] as const;

type Handle = (request: PublicRequest, id: string) => Promise<HttpResponse>;

/** A step of the login with an external identity provider; errors are shown as a page. */
function loginStep(
  method: "get" | "post",
  at: string,
  doc: string,
  handle: Handle,
  more: Pick<Action, "query" | "accepts"> = {},
): Action {
  return {
    ...{ method, at, doc, outsideVersion: true, permission: "open", response: PAGE, errorResponse: PAGE, ...more },
    handle: async (request) => {
      try {
        return await handle(request, request.params.identityProviderId ?? "");
      } catch (error) {
        return renderLoginErrorPage(messagesFor(request), readBranding(request.deps.store), error);
      }
    },
  } as Action;
}

/**
 * Login with an external identity provider, and SAML metadata. The pages need no scripts.
 * @source OpenID Connect Core 1.0 §3.1; SAML 2.0 Bindings §3.4 and §3.5
 */
export const providerLoginActions: readonly Action[] = [
  loginStep(
    "get",
    AT,
    "Redirects the browser to the login page of an identity provider.",
    async ({ deps, query, secure }, id) => {
      const { location, cookie } = await deps.identity.providerLogin.begin(id, textParameter(query, "to"));
      return redirect(location, buildLoginCookie(cookie, secure, LOGIN_TIMEOUT_MS));
    },
    { query: { to: text("Path on this appliance to return to.", { max: 2_000 }) } },
  ),
  loginStep(
    "get",
    `${AT}/back`,
    "OpenID Connect callback; starts a session.",
    async (request, id) => {
      const { deps, query, address } = request;
      const found = CALLBACK_PARAMETERS.map((name) => [name, textParameter(query, name)] as const);
      const parameters = Object.fromEntries(found.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
      return loggedInResponse(
        request,
        await deps.identity.providerLogin.finish(id, parameters, loginAttempt(request, address)),
      );
    },
    {
      query: Object.fromEntries(
        CALLBACK_PARAMETERS.map((name) => [name, text(`${name} of OpenID Connect.`, { max: 4_000 })]),
      ),
    },
  ),
  loginStep(
    "post",
    `${AT}/consume`,
    "SAML assertion consumer service (POST binding).",
    async (request, id) => {
      const { deps, body, address } = request;
      const parameters = { SAMLResponse: textOf(body.SAMLResponse), RelayState: textOf(body.RelayState) };
      const { ticket } = await deps.identity.providerLogin.acceptPost(id, parameters, address);
      return renderContinuePage(
        messagesFor(request),
        readBranding(deps.store),
        `/api/log-in/${id}/done?ticket=${ticket}`,
      );
    },
    {
      accepts: {
        SAMLResponse: text("SAML response, Base64.", PROVIDER_RESPONSE),
        RelayState: text("Relay state of the request.", { max: 1_000 }),
      },
    },
  ),
  loginStep(
    "get",
    `${AT}/done`,
    "Redeems the ticket of a SAML response and starts a session.",
    async (request, id) => {
      const { deps, query, address } = request;
      const attempt = loginAttempt(request, address);
      return loggedInResponse(
        request,
        await deps.identity.providerLogin.redeemTicket(id, textParameter(query, "ticket") ?? "", attempt),
      );
    },
    { query: { ticket: text("One-time ticket.", { max: 100 }) } },
  ),
  loginStep(
    "get",
    `${AT}/out`,
    "Redirects the browser to the logout page of the identity provider.",
    async ({ deps }, id) => redirect(await deps.identity.providerLogin.buildLogoutUrl(id)),
  ),
  loginStep(
    "get",
    `${AT}/logout`,
    "SAML single logout by the provider (redirect binding): ends the sessions of a user and goes back to the provider.",
    async ({ deps, query, address }, id) => {
      const given = (name: string): string => textParameter(query, name) ?? "";
      const message = {
        ...{ SAMLRequest: given("SAMLRequest"), SigAlg: given("SigAlg"), Signature: given("Signature") },
        RelayState: textParameter(query, "RelayState"),
      };
      return redirect(await deps.identity.providerLogin.acceptLogoutRequest(id, message, address));
    },
    {
      query: Object.fromEntries(
        ["SAMLRequest", "RelayState", "SigAlg", "Signature"].map((name) => [
          name,
          text(`${name} of SAML.`, { max: 20_000 }),
        ]),
      ),
    },
  ),
  {
    method: "post",
    at: `${AT}/back-channel-logout`,
    outsideVersion: true,
    doc: "OpenID Connect back-channel logout: the identity provider ends the sessions of a user.",
    accepts: { logout_token: text("Signed logout token.", { max: 20_000 }) },
    response: { kind: "nothing" },
    permission: "open",
    async handle({ deps, params, body, address }) {
      const id = params.identityProviderId ?? "";
      await deps.identity.providerLogin
        .acceptLogoutToken(id, textOf(body.logout_token), address)
        .catch((error: unknown) => {
          if (!(error instanceof LoginError)) throw error;
          throw error.code === "off" ? notFound() : invalidValue("logout_token", error.message);
        });
      return { status: 204, body: null };
    },
  },
  {
    method: "get",
    at: `${AT}/metadata`,
    outsideVersion: true,
    doc: "Returns the SAML metadata of this appliance.",
    response: { kind: "bytes", types: ["application/samlmetadata+xml"] },
    permission: "open",
    async handle({ deps, params }) {
      const body = await deps.identity.providerLogin
        .metadata(params.identityProviderId ?? "")
        .catch((error: unknown) => {
          throw error instanceof LoginError && error.code === "off" ? notFound() : error;
        });
      return { type: "application/samlmetadata+xml", body };
    },
  },
];

function loginAttempt({ header }: PublicRequest, address: string | null): BrowserContext {
  return { cookie: readLoginCookie(header("cookie")), address };
}

function loggedInResponse(request: PublicRequest, { session, returnPath }: LoginSession): HttpResponse {
  const { deps, secure } = request;
  const page = renderContinuePage(messagesFor(request), readBranding(deps.store), returnPath);
  return { ...page, headers: { ...page.headers, "Set-Cookie": buildSessionCookie(session, secure) } };
}

function redirect(location: string, cookie?: string): HttpResponse {
  const headers = { Location: location, "Referrer-Policy": "no-referrer", ...(cookie ? { "Set-Cookie": cookie } : {}) };
  return { status: 303, headers, body: null };
}

function messagesFor({ header }: Pick<PublicRequest, "header">): LoginMessages {
  return loginMessages(header("accept-language"));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
