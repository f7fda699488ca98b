import { readBranding } from "../../auth/branding.ts";
import { PASSWORD_MAX_LENGTH } from "../../auth/new-passwords.ts";
import {
  type AuthorizationRequest,
  buildErrorRedirect,
  parseAuthorizationRequest,
} from "../../auth/oauth-authorization.ts";
import { OAuthRequestError } from "../../auth/oauth-error.ts";
import type { Principal } from "../../auth/principal.ts";
import { readSessionCookie } from "../../auth/session-cookie.ts";
import { CallerError, TooManyRequestsError, UpstreamError } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { option, text } from "../../schema/field.ts";
import { authorizeMessages, fillPlaceholders } from "../../web-pages/authorize-messages.ts";
import {
  renderAuthorizeErrorPage,
  renderConsentPage,
  renderLoginPage,
  renderSecondFactorPage,
} from "../../web-pages/authorize-page.ts";
import type { Action, PublicRequest } from "../action.ts";
import { errorResponseOf } from "../error-response.ts";
import { textParameter } from "../query/query.ts";
import { assertSameOrigin } from "../session-auth.ts";
import { completeLogin, logInWithPassword } from "./password-login.ts";

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
  prompt: option("login: requires a login even if there is a session.", ["login"]),
};
const form = Object.fromEntries(
  ["form_token", "decision", "email", "password", "new_password", "code"].map((name) => [
    name,
    text(`${name} of the form.`),
  ]),
);

/**
 * Login and consent pages of the OAuth 2 authorization code flow, without scripts.
 * @source docs/decisions/0003-authentication.md; RFC 6749 §4.1; docs/decisions/0021-login-and-drills.md
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
      doc: "Page for login and consent (OAuth 2 authorization code flow with PKCE).",
      query: QUERY,
    }),
  ),
  {
    method: "post",
    at: "authorize",
    outsideVersion: true,
    doc: "Processes the forms of the login and consent page and redirects the browser.",
    response: ANSWERS,
    errorResponse: ANSWERS,
    query: QUERY,
    permission: "open",
    accepts: form,
    handle: submitAuthorizeForm,
    respondToError: errorPage,
  },
];

/** The authorization request and the user; `principal` is null before login. */
interface AuthorizeContext {
  request: AuthorizationRequest;
  principal: Principal | null;
}

function readAuthorizeContext(incoming: PublicRequest): AuthorizeContext {
  const { deps, query, header, secure } = incoming;
  const request = parseAuthorizationRequest(deps.store, parametersIn(incoming));
  const token = readSessionCookie(header("cookie"), secure);
  const wantsLogIn = textParameter(query, "prompt") === "login";
  const known = token === null || wantsLogIn ? null : deps.access.authenticate(token, "cookie");
  // Restricted sessions, such as those of invited devices, must not grant the full permissions of the user.
  return { request, principal: known?.scopes === null ? known : null };
}

async function showAuthorizePage(incoming: PublicRequest): Promise<HttpResponse> {
  const context = readAuthorizeContext(incoming);
  return context.principal ? renderConsent(incoming, context, context.principal) : renderLogin(incoming, context);
}

async function submitAuthorizeForm(incoming: PublicRequest): Promise<HttpResponse> {
  assertSameOrigin(incoming);
  const context = readAuthorizeContext(incoming);
  const { deps, body, address } = incoming;
  const { request, principal } = context;
  const isTokenValid = deps.oauth.csrfTokens.verify(textOf(body.form_token), formTokenSubject(context));
  const { outdated } = messagesFor(incoming);
  if (!principal) {
    return isTokenValid
      ? typeof body.code === "string"
        ? submitSecondFactor(incoming, context)
        : submitPassword(incoming, context)
      : renderLogin(incoming, context, { status: 400, notice: outdated });
  }
  if (!isTokenValid) return renderConsent(incoming, context, principal, { status: 400, notice: outdated });
  if (body.decision === "allow") return redirect(await deps.oauth.approve(request, principal, address));
  return redirect(buildErrorRedirect(request, "access_denied", "The user denied access."));
}

/** Starts a console session and redirects back to the page. */
async function submitPassword(incoming: PublicRequest, context: AuthorizeContext): Promise<HttpResponse> {
  const { body } = incoming;
  const account = { email: textOf(body.email), password: textOf(body.password) };
  try {
    const login = await logInWithPassword({ ...account, newPassword: textOf(body.new_password) }, incoming);
    const next = login.secondFactors ? renderSecondFactor(incoming, context) : redirect(pageOf(incoming));
    return { ...next, cookies: login.cookies };
  } catch (error) {
    if (!(error instanceof CallerError || error instanceof UpstreamError)) throw error;
    return renderLogin(incoming, context, formErrorOf(error, incoming));
  }
}

/** Completes the log-in of the browser's ticket. */
async function submitSecondFactor(incoming: PublicRequest, context: AuthorizeContext): Promise<HttpResponse> {
  try {
    return { ...redirect(pageOf(incoming)), cookies: await completeLogin(textOf(incoming.body.code), incoming) };
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    const messages = messagesFor(incoming);
    if (error.type === "unauthorized") {
      return renderLogin(incoming, context, { status: 400, notice: messages.loginExpired });
    }
    const formError = formErrorOf(error, incoming);
    const isLimited = error instanceof TooManyRequestsError;
    return renderSecondFactor(incoming, context, isLimited ? formError : { status: 400, notice: messages.wrongCode });
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
  const messages = messagesFor(incoming);
  const { status, headers } = errorResponseOf(error, incoming.requestId);
  if (error instanceof TooManyRequestsError) {
    return { status, headers, notice: fillPlaceholders(messages.wait, { seconds: String(error.retryAfterS) }) };
  }
  if (error instanceof UpstreamError) return { status, headers, notice: messages.away };
  if (error.faults[0]?.field !== "newPassword") return { status, notice: messages.wrong };
  const lengths = { min: String(incoming.deps.settings.auth.passwordMinLength), max: String(PASSWORD_MAX_LENGTH) };
  const notice = error.type === "required" ? messages.setNew : fillPlaceholders(messages.badNew, lengths);
  return { status, notice, asksNewPassword: true };
}

function renderLogin(incoming: PublicRequest, { request }: AuthorizeContext, error = NO_ERROR): HttpResponse {
  const { status, notice, asksNewPassword: requiresNewPassword = false, headers } = error;
  const { identity } = incoming.deps;
  const back = new URLSearchParams({ to: pageOf(incoming) });
  const providers = identity.loginOptions().map(({ id, name }) => ({ name, href: `/api/log-in/${id}?${back}` }));
  const page = renderLoginPage({
    ...{ request, status, notice, requiresNewPassword, ...appearanceFor(incoming), email: textOf(incoming.body.email) },
    ...{ action: pageOf(incoming, "login"), formToken: formTokenFor(incoming, { request, principal: null }) },
    ...{ providers, passwords: identity.passwordLoginOptions() },
    passwordMinLength: incoming.deps.settings.auth.passwordMinLength,
  });
  return { ...page, headers: { ...page.headers, ...headers } };
}

function renderSecondFactor(incoming: PublicRequest, context: AuthorizeContext, error = NO_ERROR): HttpResponse {
  const { status, notice, headers } = error;
  const page = renderSecondFactorPage({
    ...{
      request: context.request,
      status,
      notice,
      ...appearanceFor(incoming),
      otherAccount: pageOf(incoming, "login"),
    },
    ...{ action: pageOf(incoming, "login"), formToken: formTokenFor(incoming, { ...context, principal: null }) },
  });
  return { ...page, headers: { ...page.headers, ...headers } };
}

function renderConsent(
  incoming: PublicRequest,
  context: AuthorizeContext,
  { name, email }: Principal,
  error = NO_ERROR,
): HttpResponse {
  const { status, notice } = error;
  return renderConsentPage({
    ...{ request: context.request, status, notice, ...appearanceFor(incoming) },
    ...{
      action: pageOf(incoming),
      formToken: formTokenFor(incoming, context),
      otherAccount: pageOf(incoming, "login"),
    },
    userName: email === null ? name : `${name} (${email})`,
  });
}

/** Redirects errors to the application if its redirect URI is valid, otherwise shows an error page. */
function errorPage(error: unknown, incoming: Omit<PublicRequest, "body">): HttpResponse {
  if (error instanceof OAuthRequestError && error.location !== null) return redirect(error.location);
  const { status, headers, body } = errorResponseOf(error, incoming.requestId);
  // A 401 would open the browser's password dialog.
  const page = renderAuthorizeErrorPage({
    ...appearanceFor(incoming),
    status: status === 401 ? 400 : status,
    reason: body.message,
  });
  const { "WWW-Authenticate": _challenge, ...more } = headers;
  return { ...page, headers: { ...page.headers, ...more } };
}

function redirect(location: string): HttpResponse {
  return { status: 303, headers: { Location: location, "Referrer-Policy": "no-referrer" }, body: null };
}

/** URL of the page with the same request; `prompt=login` requires a login even if there is a session. */
function pageOf(incoming: Omit<PublicRequest, "body">, prompt: "login" | null = null): string {
  const given = Object.entries(parametersIn(incoming)).filter(([, value]) => value !== null) as [string, string][];
  if (prompt !== null) given.push(["prompt", prompt]);
  return `/api/authorize?${new URLSearchParams(given)}`;
}

function parametersIn({ query }: Omit<PublicRequest, "body">): Record<(typeof PARAMETERS)[number], string | null> {
  const given = PARAMETERS.map((name) => [name, textParameter(query, name) || null]);
  return Object.fromEntries(given) as Record<(typeof PARAMETERS)[number], string | null>;
}

function formTokenFor({ deps }: PublicRequest, context: AuthorizeContext): string {
  return deps.oauth.csrfTokens.issue(formTokenSubject(context));
}

/** Subject of the CSRF token: this request and session. */
function formTokenSubject({ request, principal }: AuthorizeContext): string {
  const { application, redirectUri, scopes, state, codeChallenge } = request;
  return JSON.stringify([application.id, redirectUri, scopes, state, codeChallenge, principal?.tokenId ?? null]);
}

function appearanceFor(incoming: Omit<PublicRequest, "body">) {
  return { messages: messagesFor(incoming), branding: readBranding(incoming.deps.store) };
}

function messagesFor({ header }: Omit<PublicRequest, "body">) {
  return authorizeMessages(header("accept-language"));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
