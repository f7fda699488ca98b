import { readBranding } from "../../auth/branding.ts";
import { buildSessionCookie } from "../../auth/session-cookie.ts";
import { notFound } from "../../lib/errors.ts";
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
/** Longest answer of a provider that is taken. own choice */
const PROVIDER_RESPONSE = { max: 500_000 } as const;
/** What an OpenID provider sends back. @source OpenID Connect Core 1.0 §3.1.2.5; RFC 9207 §2 */
const CALLBACK_PARAMETERS = ["code", "state", "iss", "error"] as const;

type Handle = (request: PublicRequest, id: string) => Promise<HttpResponse>;

/** A step of log-in by another site's pages; whatever goes wrong is told by a page. */
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
        return renderLoginErrorPage(messagesFor(request), readBranding(request.needs.store), error);
      }
    },
  } as Action;
}

/**
 * Log-in by way of the pages of another identity provider, and its metadata. They need no scripts.
 * @source OpenID Connect Core 1.0 §3.1; SAML 2.0 Bindings §3.4 and §3.5; own choice: the paths
 */
export const providerLoginActions: readonly Action[] = [
  loginStep(
    "get",
    AT,
    "Leads a browser to an identity provider's pages.",
    async ({ needs, query, secure }, id) => {
      const { location, cookie } = await needs.identity.providerLogin.begin(id, textParameter(query, "to"));
      return redirect(location, buildLoginCookie(cookie, secure, LOGIN_TIMEOUT_MS));
    },
    { query: { to: text("Path of this appliance to go on to.", { max: 2_000 }) } },
  ),
  loginStep(
    "get",
    `${AT}/back`,
    "Takes a browser that comes back from an OpenID provider, and begins a session.",
    async (request, id) => {
      const { needs, query, address } = request;
      const found = CALLBACK_PARAMETERS.map((name) => [name, textParameter(query, name)] as const);
      const brought = Object.fromEntries(found.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
      return loggedInResponse(
        request,
        await needs.identity.providerLogin.finish(id, brought, loginAttempt(request, address)),
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
    "Takes what a SAML provider's page posts.",
    async (request, id) => {
      const { needs, body, address } = request;
      const brought = { SAMLResponse: textOf(body.SAMLResponse), RelayState: textOf(body.RelayState) };
      const { ticket } = await needs.identity.providerLogin.acceptPost(id, brought, address);
      return renderContinuePage(
        messagesFor(request),
        readBranding(needs.store),
        `/api/log-in/${id}/done?ticket=${ticket}`,
      );
    },
    {
      accepts: {
        SAMLResponse: text("The answer, in Base64.", PROVIDER_RESPONSE),
        RelayState: text("What the request brought along.", { max: 1_000 }),
      },
    },
  ),
  loginStep(
    "get",
    `${AT}/done`,
    "Takes the browser that brings the ticket of such an answer, and begins a session.",
    async (request, id) => {
      const { needs, query, address } = request;
      const coming = loginAttempt(request, address);
      return loggedInResponse(
        request,
        await needs.identity.providerLogin.redeemTicket(id, textParameter(query, "ticket") ?? "", coming),
      );
    },
    { query: { ticket: text("The ticket.", { max: 100 }) } },
  ),
  loginStep("get", `${AT}/out`, "Leads whoever logged out here to the provider's log-out.", async ({ needs }, id) =>
    redirect(await needs.identity.providerLogin.buildLogoutUrl(id)),
  ),
  {
    method: "get",
    at: `${AT}/metadata`,
    outsideVersion: true,
    doc: "Describes this appliance to a SAML provider.",
    response: { kind: "bytes", types: ["application/samlmetadata+xml"] },
    permission: "open",
    async handle({ needs, params }) {
      const body = await needs.identity.providerLogin
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
  const { needs, secure } = request;
  const page = renderContinuePage(messagesFor(request), readBranding(needs.store), returnPath);
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
