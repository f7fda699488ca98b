import type { Branding } from "../auth/branding.ts";
import type { AuthorizationRequest } from "../auth/oauth-authorization.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { type AuthorizeMessages, fillPlaceholders } from "./authorize-messages.ts";
import { html, type Markup, rawHtml, renderHtmlPage } from "./html-page.ts";
import { pageBranding } from "./page-branding.ts";

/** What every page of log-in and consent has. */
interface PageBase {
  words: AuthorizeMessages;
  branding: Branding;
  status: number;
}

/** A form of the page: posts to `action`, with its proof. */
interface FormPage extends PageBase {
  request: AuthorizationRequest;
  action: string;
  formToken: string;
}

/** The page that asks who somebody is. */
export interface LoginPage extends FormPage {
  email: string;
  /** What went wrong, or null. */
  notice: string | null;
  requiresNewPassword: boolean;
  /** Identity providers with pages of their own, and where to go for each. */
  providers: readonly { name: string; href: string }[];
  /** Whose passwords are taken, and whether people may have other names than addresses. */
  passwords: { taken: boolean; directory: boolean };
}

/** The page that asks whether an application may act for somebody. */
export interface ConsentPage extends FormPage {
  userName: string;
  /** Where another account can be used. */
  otherAccount: string;
  notice: string | null;
}

/** Asks for address and password, or by which provider somebody logs in. */
export function renderLoginPage(page: LoginPage): HttpResponse {
  const { words, request, email, requiresNewPassword, providers: doors, passwords } = page;
  const field = (name: string, label: string, type: string, completes: string, value = ""): Markup =>
    html`<label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${completes}" required${rawHtml(name === "new_password" ? ' aria-describedby="hint"' : "")}>`;
  const fresh = html`${field("new_password", words.newPassword, "password", "new-password")}<small id="hint">${words.newPasswordHint}</small>`;
  return renderPage(
    page,
    words.logIn,
    html`<h1>${words.logIn}</h1><p>${fillPlaceholders(words.logInFor, { app: request.application.name })}</p>${renderNotice(page.notice)}
${doors.map(({ name, href }) => html`<p><a href="${href}">${fillPlaceholders(words.by, { name })}</a></p>`)}${passwords.taken ? "" : html`<p>${words.breakGlass}</p>`}
${renderForm(page, html`${passwords.directory ? field("email", words.login, "text", "username", email) : field("email", words.email, "email", "username", email)}${field("password", words.password, "password", "current-password")}${requiresNewPassword ? fresh : ""}<button>${words.logIn}</button>`)}`,
    request,
  );
}

/** Asks whether the application may. */
export function renderConsentPage(page: ConsentPage): HttpResponse {
  const { words, request, userName } = page;
  const app = request.application.name;
  const title = fillPlaceholders(words.allowTitle, { app });
  const wishes =
    request.scopes.length === 0 ? [words.everything] : request.scopes.map((scope) => describeScope(scope, words));
  return renderPage(
    page,
    title,
    html`<h1>${title}</h1>${renderNotice(page.notice)}<p>${fillPlaceholders(words.allowText, { app, user: userName })}</p>
<ul>${wishes.map((each) => html`<li>${each}</li>`)}</ul><p>${fillPlaceholders(words.leadsTo, { place: displayOrigin(request.redirectUri) })}</p>
${renderForm(page, html`<button name="decision" value="allow">${words.allow}</button><button class="plain" name="decision" value="deny">${words.deny}</button>`)}
<p><a href="${page.otherAccount}">${words.otherAccount}</a></p>`,
    request,
  );
}

/** Says why there is nothing to ask. */
export function renderAuthorizeErrorPage(page: PageBase & { reason: string }): HttpResponse {
  const { words, reason } = page;
  return renderPage(page, words.refusedTitle, html`<h1>${words.refusedTitle}</h1><p role="alert">${reason}</p>`, null);
}

/** A scope in words: `urn:service:message-templates:read` reads message templates. */
function describeScope(scope: string, words: AuthorizeMessages): string {
  const [resource, right] = scope.split(":").slice(2);
  if (resource === undefined) return words.offline;
  return fillPlaceholders(right === "read" ? words.read : words.write, { resource: resource.replaceAll("-", " ") });
}

function renderNotice(notice: string | null): Markup {
  return notice === null ? rawHtml("") : html`<p role="alert">${notice}</p>`;
}

function renderForm({ action, formToken }: FormPage, content: Markup): Markup {
  return html`<form method="post" action="${action}"><input type="hidden" name="form_token" value="${formToken}">${content}</form>`;
}

function renderPage(
  { words, status, branding }: PageBase,
  title: string,
  content: Markup,
  request: AuthorizationRequest | null,
): HttpResponse {
  // Browsers follow a form only where the policy lets it lead, which is the application, too.
  const formTargets = request ? `'self' ${cspSourceOf(request.redirectUri)}` : "'none'";
  const vary = "Accept-Language, Cookie";
  return renderHtmlPage({
    language: words.language,
    status,
    title,
    content,
    formTargets,
    vary,
    ...pageBranding(branding),
  });
}

/** A policy can't name IPv6 addresses nor parts of a program's own scheme. */
function cspSourceOf(uri: string): string {
  const { protocol, host, hostname } = new URL(uri);
  const isWeb = protocol === "https:" || protocol === "http:";
  return isWeb && !hostname.startsWith("[") ? `${protocol}//${host}` : protocol;
}

function displayOrigin(uri: string): string {
  const { protocol, host } = new URL(uri);
  return protocol === "https:" || protocol === "http:" ? host : protocol;
}
