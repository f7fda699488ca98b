import type { Branding } from "../auth/branding.ts";
import { CallerError, TooManyRequestsError } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { LoginError, type LoginErrorCode } from "../sso/login-error.ts";
import { fillPlaceholders } from "./authorize-messages.ts";
import { html, type Markup, renderHtmlPage } from "./html-page.ts";
import type { LoginMessages } from "./login-messages.ts";
import { pageBranding } from "./page-branding.ts";

const STATUSES: Readonly<Partial<Record<LoginErrorCode, number>>> = {
  down: 502,
  denied: 403,
  "no-account": 403,
  locked: 403,
  strength: 403,
  off: 404,
};

/**
 * Continues through a page of our own origin, because browsers do not send the SameSite session cookie with a
 * redirect from another site.
 */
export function renderContinuePage(messages: LoginMessages, branding: Branding, to: string): HttpResponse {
  const content = html`<h1>${messages.goingOn}</h1><p><a href="${to}">${messages.goOn}</a></p>`;
  const page = renderPage(messages, branding, 200, messages.goingOn, content);
  return { ...page, headers: { ...page.headers, Refresh: `0; url=${to}` } };
}

/** Error page of a failed login. Rethrows errors that do not concern the login. */
export function renderLoginErrorPage(messages: LoginMessages, branding: Branding, error: unknown): HttpResponse {
  const isRateLimited = error instanceof TooManyRequestsError;
  if (!isRateLimited && !(error instanceof CallerError && error.type === "unauthorized")) throw error;
  // The login service reports a single generic error; after a successful provider login the cause is a locked account.
  const code = error instanceof LoginError ? error.code : "locked";
  const reason = isRateLimited
    ? fillPlaceholders(messages.wait, { seconds: String(error.retryAfterS) })
    : messages.errors[code];
  const content = html`<h1>${messages.refused}</h1><p role="alert">${reason}</p><p><a href="/">${messages.again}</a></p>`;
  const page = renderPage(messages, branding, isRateLimited ? 429 : (STATUSES[code] ?? 400), messages.refused, content);
  return isRateLimited ? { ...page, headers: { ...page.headers, "Retry-After": String(error.retryAfterS) } } : page;
}

function renderPage(
  messages: LoginMessages,
  branding: Branding,
  status: number,
  title: string,
  content: Markup,
): HttpResponse {
  const { language } = messages;
  const vary = "Accept-Language, Cookie";
  return renderHtmlPage({ language, status, title, content, formTargets: "'none'", vary, ...pageBranding(branding) });
}
