import { readBranding } from "../../auth/branding.ts";
import {
  type AuthorizationRequest,
  buildErrorRedirect,
  parseAuthorizationRequest,
} from "../../auth/oauth-authorization.ts";
import { OAuthRequestError } from "../../auth/oauth-error.ts";
import type { Principal } from "../../auth/principal.ts";
import { buildSessionCookie, readSessionCookie } from "../../auth/session-cookie.ts";
import { CallerError, TooManyRequestsError, UpstreamError } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { option, text } from "../../schema/field.ts";
import { authorizeMessages, fillPlaceholders } from "../../web-pages/authorize-messages.ts";
import { renderAuthorizeErrorPage, renderConsentPage, renderLoginPage } from "../../web-pages/authorize-page.ts";
import type { Action, PublicRequest } from "../action.ts";
import { errorResponseOf } from "../error-response.ts";
import { textParameter } from "../query/query.ts";
import { assertSameOrigin } from "../session-auth.ts";

const ANSWERS = { kind: "page" } as const;
const PARAMETERS = [
  "client_id",
  "response_type",
  "redirect_uri",
  "state",
  "scope",
  "code_challenge",
  "code_challenge_method",
] as const;
const QUERY = {
  ...Object.fromEntries(PARAMETERS.map((name) => [name, text(`${name} of OAuth 2.`, { max: 4_000 })])),
  prompt: option("login: asks for an account even if there is a session.", ["login"]),
};
const form = Object.fromEntries(
  ["form_token", "decision", "email", "password", "new_password"].map((name) => [name, text(`${name} of the form.`)]),
);

/**
 * The page on which a user lets an application act: log-in, then consent. It needs no scripts.
 * @source decisions.md 3; RFC 6749 §4.1; interfaces.md, Log-in and drill
 */
export const authorizeActions: readonly Action[] = [
  ...["authorize", "login"].map(
    (at): Action => ({
      ...{
        method: "get",
        at,
        outsideVersion: true,
        permission: "open",
        handle: showAuthorizePage,
        respondToError: errorPage,
        response: ANSWERS,
        errorResponse: ANSWERS,
      },
      doc: "The page on which a user logs in and lets an application act (OAuth 2, code with PKCE).",
      query: QUERY,
    }),
  ),
  {
    method: "post",
    at: "authorize",
    outsideVersion: true,
    doc: "Takes the forms of that page and sends the browser on.",
    response: ANSWERS,
    errorResponse: ANSWERS,
    query: QUERY,
    permission: "open",
    accepts: form,
    handle: submitAuthorizeForm,
    respondToError: errorPage,
  },
];

/** What a request is about and who makes it; `principal` is null before log-in. */
interface AuthorizeContext {
  request: AuthorizationRequest;
  principal: Principal | null;
}

function readAuthorizeContext(incoming: PublicRequest): AuthorizeContext {
  const { needs, query, header, secure } = incoming;
  const request = parseAuthorizationRequest(needs.store, parametersIn(incoming));
  const token = readSessionCookie(header("cookie"), secure);
  const wantsLogIn = textParameter(query, "prompt") === "login";
  const known = token === null || wantsLogIn ? null : needs.access.authenticate(token, "cookie");
  // What reaches less than its user, as a device that was invited, must not hand out all that the user may do.
  return { request, principal: known?.scopes === null ? known : null };
}

async function showAuthorizePage(incoming: PublicRequest): Promise<HttpResponse> {
  const asked = readAuthorizeContext(incoming);
  return asked.principal ? renderConsent(incoming, asked, asked.principal) : renderLogin(incoming, asked);
}

async function submitAuthorizeForm(incoming: PublicRequest): Promise<HttpResponse> {
  assertSameOrigin(incoming);
  const asked = readAuthorizeContext(incoming);
  const { needs, body, address } = incoming;
  const { request, principal } = asked;
  const isGood = needs.oauth.csrfTokens.verify(textOf(body.form_token), formTokenSubject(asked));
  const { outdated } = messagesFor(incoming);
  if (!principal) {
    return isGood ? submitPassword(incoming, asked) : renderLogin(incoming, asked, { status: 400, notice: outdated });
  }
  if (!isGood) return renderConsent(incoming, asked, principal, { status: 400, notice: outdated });
  if (body.decision === "allow") return redirect(await needs.oauth.approve(request, principal, address));
  return redirect(buildErrorRedirect(request, "access_denied", "The user did not allow it."));
}

/** Begins a session of the console, which the next page is asked with. */
async function submitPassword(incoming: PublicRequest, asked: AuthorizeContext): Promise<HttpResponse> {
  const { needs, body, address, secure } = incoming;
  const account = { email: textOf(body.email), password: textOf(body.password) };
  try {
    const token = await needs.signIn.loginWithPassword({ ...account, newPassword: textOf(body.new_password) }, address);
    return redirect(pageOf(incoming), { "Set-Cookie": buildSessionCookie(token, secure) });
  } catch (error) {
    if (!(error instanceof CallerError || error instanceof UpstreamError)) throw error;
    return renderLogin(incoming, asked, formErrorOf(error, incoming));
  }
}

interface FormError {
  status: number;
  notice: string | null;
  asksNewPassword?: boolean;
  headers?: Readonly<Record<string, string>>;
}

const NO_ERROR: FormError = { status: 200, notice: null };

function formErrorOf(error: CallerError | UpstreamError, incoming: PublicRequest): FormError {
  const words = messagesFor(incoming);
  const { status, headers } = errorResponseOf(error, incoming.requestId);
  if (error instanceof TooManyRequestsError) {
    return { status, headers, notice: fillPlaceholders(words.wait, { seconds: String(error.retryAfterS) }) };
  }
  if (error instanceof UpstreamError) return { status, headers, notice: words.away };
  if (error.faults[0]?.field !== "newPassword") return { status, notice: words.wrong };
  return { status, notice: error.type === "required" ? words.setNew : words.badNew, asksNewPassword: true };
}

function renderLogin(incoming: PublicRequest, { request }: AuthorizeContext, fault = NO_ERROR): HttpResponse {
  const { status, notice, asksNewPassword: requiresNewPassword = false, headers } = fault;
  const { identity } = incoming.needs;
  const back = new URLSearchParams({ to: pageOf(incoming) });
  const providers = identity.loginOptions().map(({ id, name }) => ({ name, href: `/api/log-in/${id}?${back}` }));
  const page = renderLoginPage({
    ...{ request, status, notice, requiresNewPassword, ...appearanceFor(incoming), email: textOf(incoming.body.email) },
    ...{ action: pageOf(incoming, "login"), formToken: formTokenFor(incoming, { request, principal: null }) },
    ...{ providers, passwords: identity.passwordLoginOptions() },
  });
  return { ...page, headers: { ...page.headers, ...headers } };
}

function renderConsent(
  incoming: PublicRequest,
  asked: AuthorizeContext,
  { name, email }: Principal,
  fault = NO_ERROR,
): HttpResponse {
  const { status, notice } = fault;
  return renderConsentPage({
    ...{ request: asked.request, status, notice, ...appearanceFor(incoming) },
    ...{ action: pageOf(incoming), formToken: formTokenFor(incoming, asked), otherAccount: pageOf(incoming, "login") },
    userName: email === null ? name : `${name} (${email})`,
  });
}

/** Sends the browser back to the application where it can be trusted, else says on the page what is wrong. */
function errorPage(error: unknown, incoming: Omit<PublicRequest, "body">): HttpResponse {
  if (error instanceof OAuthRequestError && error.location !== null) return redirect(error.location);
  const { status, headers, body } = errorResponseOf(error, incoming.requestId);
  // A browser would ask for a password of its own at 401.
  const page = renderAuthorizeErrorPage({
    ...appearanceFor(incoming),
    status: status === 401 ? 400 : status,
    reason: body.message,
  });
  const { "WWW-Authenticate": _challenge, ...more } = headers;
  return { ...page, headers: { ...page.headers, ...more } };
}

function redirect(location: string, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return { status: 303, headers: { ...headers, Location: location, "Referrer-Policy": "no-referrer" }, body: null };
}

/** The page with the same request; `prompt` login asks for an account even if there is a session. */
function pageOf(incoming: Omit<PublicRequest, "body">, prompt: "login" | null = null): string {
  const given = Object.entries(parametersIn(incoming)).filter(([, value]) => value !== null) as [string, string][];
  if (prompt !== null) given.push(["prompt", prompt]);
  return `/api/authorize?${new URLSearchParams(given)}`;
}

function parametersIn({ query }: Omit<PublicRequest, "body">): Record<(typeof PARAMETERS)[number], string | null> {
  const given = PARAMETERS.map((name) => [name, textParameter(query, name) || null]);
  return Object.fromEntries(given) as Record<(typeof PARAMETERS)[number], string | null>;
}

function formTokenFor({ needs }: PublicRequest, asked: AuthorizeContext): string {
  return needs.oauth.csrfTokens.issue(formTokenSubject(asked));
}

/** What a form is good for: this request of this session. */
function formTokenSubject({ request, principal }: AuthorizeContext): string {
  const { application, redirectUri, scopes, state, codeChallenge } = request;
  return JSON.stringify([application.id, redirectUri, scopes, state, codeChallenge, principal?.tokenId ?? null]);
}

function appearanceFor(incoming: Omit<PublicRequest, "body">) {
  return { words: messagesFor(incoming), branding: readBranding(incoming.needs.store) };
}

function messagesFor({ header }: Omit<PublicRequest, "body">) {
  return authorizeMessages(header("accept-language"));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
