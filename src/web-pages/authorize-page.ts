import type { Branding } from "../auth/branding.ts";
import type { AuthorizationRequest } from "../auth/oauth-authorization.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { type AuthorizeMessages, fillPlaceholders } from "./authorize-messages.ts";
import { html, type Markup, rawHtml, renderHtmlPage } from "./html-page.ts";
import { pageBranding } from "./page-branding.ts";

/** Common data of the login and consent pages. */
interface PageBase {
  messages: AuthorizeMessages;
  branding: Branding;
  status: number;
}

/** A form that posts to `action` with a CSRF token. */
interface FormPage extends PageBase {
  request: AuthorizationRequest;
  action: string;
  formToken: string;
}

/** Data of the login page. */
export interface LoginPage extends FormPage {
  email: string;
  /** Error message, or null. */
  notice: string | null;
  requiresNewPassword: boolean;
  passwordMinLength: number;
  /** Identity providers with their own login page. */
  providers: readonly { name: string; href: string }[];
  /** Whether password login is open to all users, and whether login names may differ from email addresses (LDAP). */
  passwords: { taken: boolean; directory: boolean };
}

/** Data of the page that asks for a code of the second factor. */
export interface SecondFactorPage extends FormPage {
  /** Link back to the password. */
  otherAccount: string;
  notice: string | null;
}

/** Data of the consent page. */
export interface ConsentPage extends FormPage {
  userName: string;
  /** Link for using another account. */
  otherAccount: string;
  notice: string | null;
}

/** Login form with email and password, and links to identity providers. */
export function renderLoginPage(page: LoginPage): HttpResponse {
  const { messages, request, email, requiresNewPassword, providers, passwords } = page;
  const newPasswordHint = fillPlaceholders(messages.newPasswordHint, { min: String(page.passwordMinLength) });
  const field = (name: string, label: string, type: string, autocomplete: string, value = ""): Markup =>
    html`<label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}" required${rawHtml(name === "new_password" ? ' aria-describedby="hint"' : "")}>`;
  const newPasswordField = html`${field("new_password", messages.newPassword, "password", "new-password")}<small id="hint">${newPasswordHint}</small>`;
  return renderPage(
    page,
    messages.logIn,
    html`<h1>${messages.logIn}</h1><p>${fillPlaceholders(messages.logInFor, { app: request.application.name })}</p>${renderNotice(page.notice)}
${providers.map(({ name, href }) => html`<p><a href="${href}">${fillPlaceholders(messages.by, { name })}</a></p>`)}${passwords.taken ? "" : html`<p>${messages.breakGlass}</p>`}
${renderForm(page, html`${passwords.directory ? field("email", messages.login, "text", "username", email) : field("email", messages.email, "email", "username", email)}${field("password", messages.password, "password", "current-password")}${requiresNewPassword ? newPasswordField : ""}<button>${messages.logIn}</button>`)}`,
    request,
  );
}

/** Form for a code of the second factor, after the password. */
export function renderSecondFactorPage(page: SecondFactorPage): HttpResponse {
  const { messages, request } = page;
  const input = html`<label for="code">${messages.code}</label><input id="code" name="code" type="text" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="64" required aria-describedby="hint" autofocus><small id="hint">${messages.codeHint}</small>`;
  return renderPage(
    page,
    messages.secondFactor,
    html`<h1>${messages.secondFactor}</h1>${renderNotice(page.notice)}
${renderForm(page, html`${input}<button>${messages.logIn}</button>`)}
<p><a href="${page.otherAccount}">${messages.otherAccount}</a></p>`,
    request,
  );
}

/** Consent form for an application. */
export function renderConsentPage(page: ConsentPage): HttpResponse {
  const { messages, request, userName } = page;
  const app = request.application.name;
  const title = fillPlaceholders(messages.allowTitle, { app });
  const requested =
    request.scopes.length === 0 ? [messages.everything] : request.scopes.map((scope) => describeScope(scope, messages));
  return renderPage(
    page,
    title,
    html`<h1>${title}</h1>${renderNotice(page.notice)}<p>${fillPlaceholders(messages.allowText, { app, user: userName })}</p>
<ul>${requested.map((each) => html`<li>${each}</li>`)}</ul><p>${fillPlaceholders(messages.leadsTo, { place: displayOrigin(request.redirectUri) })}</p>
${renderForm(page, html`<button name="decision" value="allow">${messages.allow}</button><button class="plain" name="decision" value="deny">${messages.deny}</button>`)}
<p><a href="${page.otherAccount}">${messages.otherAccount}</a></p>`,
    request,
  );
}

/** Error page of the authorization. */
export function renderAuthorizeErrorPage(page: PageBase & { reason: string }): HttpResponse {
  const { messages, reason } = page;
  return renderPage(
    page,
    messages.refusedTitle,
    html`<h1>${messages.refusedTitle}</h1><p role="alert">${reason}</p>`,
    null,
  );
}

/** Describes a scope: `urn:service:message-templates:read` reads message templates. */
function describeScope(scope: string, messages: AuthorizeMessages): string {
  const [resource, right] = scope.split(":").slice(2);
  if (resource === undefined) return messages.offline;
  return fillPlaceholders(right === "read" ? messages.read : messages.write, {
    resource: resource.replaceAll("-", " "),
  });
}

function renderNotice(notice: string | null): Markup {
  return notice === null ? rawHtml("") : html`<p role="alert">${notice}</p>`;
}

function renderForm({ action, formToken }: FormPage, content: Markup): Markup {
  return html`<form method="post" action="${action}"><input type="hidden" name="form_token" value="${formToken}">${content}</form>`;
}

function renderPage(
  { messages, status, branding }: PageBase,
  title: string,
  content: Markup,
  request: AuthorizationRequest | null,
): HttpResponse {
  // CSP form-action also applies to redirects after the form, so the application is allowed too.
  const formTargets = request ? `'self' ${cspSourceOf(request.redirectUri)}` : "'none'";
  const vary = "Accept-Language, Cookie";
  return renderHtmlPage({
    language: messages.language,
    status,
    title,
    content,
    formTargets,
    vary,
    ...pageBranding(branding),
  });
}

/** CSP cannot express IPv6 addresses or parts of private-use schemes. */
function cspSourceOf(uri: string): string {
  const { protocol, host, hostname } = new URL(uri);
  const isWeb = protocol === "https:" || protocol === "http:";
  return isWeb && !hostname.startsWith("[") ? `${protocol}//${host}` : protocol;
}

function displayOrigin(uri: string): string {
  const { protocol, host } = new URL(uri);
  return protocol === "https:" || protocol === "http:" ? host : protocol;
}
