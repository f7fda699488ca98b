import type { AuthorizationRequest } from "../access/authorization.ts";
import type { Branding } from "../access/branding.ts";
import type { Answer } from "./action.ts";
import { type AuthorizeWords, filled } from "./authorize-words.ts";
import { brandedParts } from "./branded-page.ts";
import { html, type Markup, plainPage, raw } from "./plain-page.ts";

/** What every page of log-in and consent has. */
interface PageBase {
  words: AuthorizeWords;
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
export interface LogInPage extends FormPage {
  email: string;
  /** What went wrong, or null. */
  notice: string | null;
  asksNewPassword: boolean;
  /** Identity providers with pages of their own, and where to go for each. */
  doors: readonly { name: string; href: string }[];
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
export function logInPage(page: LogInPage): Answer {
  const { words, request, email, asksNewPassword, doors, passwords } = page;
  const field = (name: string, label: string, type: string, completes: string, value = ""): Markup =>
    html`<label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${completes}" required${raw(name === "new_password" ? ' aria-describedby="hint"' : "")}>`;
  const fresh = html`${field("new_password", words.newPassword, "password", "new-password")}<small id="hint">${words.newPasswordHint}</small>`;
  return answer(
    page,
    words.logIn,
    html`<h1>${words.logIn}</h1><p>${filled(words.logInFor, { app: request.application.name })}</p>${noticeOf(page.notice)}
${doors.map(({ name, href }) => html`<p><a href="${href}">${filled(words.by, { name })}</a></p>`)}${passwords.taken ? "" : html`<p>${words.breakGlass}</p>`}
${form(page, html`${passwords.directory ? field("email", words.login, "text", "username", email) : field("email", words.email, "email", "username", email)}${field("password", words.password, "password", "current-password")}${asksNewPassword ? fresh : ""}<button>${words.logIn}</button>`)}`,
    request,
  );
}

/** Asks whether the application may. */
export function consentPage(page: ConsentPage): Answer {
  const { words, request, userName } = page;
  const app = request.application.name;
  const title = filled(words.allowTitle, { app });
  const wishes = request.scopes.length === 0 ? [words.everything] : request.scopes.map((scope) => wish(scope, words));
  return answer(
    page,
    title,
    html`<h1>${title}</h1>${noticeOf(page.notice)}<p>${filled(words.allowText, { app, user: userName })}</p>
<ul>${wishes.map((each) => html`<li>${each}</li>`)}</ul><p>${filled(words.leadsTo, { place: placeOf(request.redirectUri) })}</p>
${form(page, html`<button name="decision" value="allow">${words.allow}</button><button class="plain" name="decision" value="deny">${words.deny}</button>`)}
<p><a href="${page.otherAccount}">${words.otherAccount}</a></p>`,
    request,
  );
}

/** Says why there is nothing to ask. */
export function refusedPage(page: PageBase & { reason: string }): Answer {
  const { words, reason } = page;
  return answer(page, words.refusedTitle, html`<h1>${words.refusedTitle}</h1><p role="alert">${reason}</p>`, null);
}

/** A scope in words: `urn:service:message-templates:read` reads message templates. */
function wish(scope: string, words: AuthorizeWords): string {
  const [resource, right] = scope.split(":").slice(2);
  if (resource === undefined) return words.offline;
  return filled(right === "read" ? words.read : words.write, { resource: resource.replaceAll("-", " ") });
}

function noticeOf(notice: string | null): Markup {
  return notice === null ? raw("") : html`<p role="alert">${notice}</p>`;
}

function form({ action, formToken }: FormPage, content: Markup): Markup {
  return html`<form method="post" action="${action}"><input type="hidden" name="form_token" value="${formToken}">${content}</form>`;
}

function answer(
  { words, status, branding }: PageBase,
  title: string,
  content: Markup,
  request: AuthorizationRequest | null,
): Answer {
  // Browsers follow a form only where the policy lets it lead, which is the application, too.
  const formTargets = request ? `'self' ${sourceOf(request.redirectUri)}` : "'none'";
  const vary = "Accept-Language, Cookie";
  return plainPage({ language: words.language, status, title, content, formTargets, vary, ...brandedParts(branding) });
}

/** A policy can't name IPv6 addresses nor parts of a program's own scheme. */
function sourceOf(uri: string): string {
  const { protocol, host, hostname } = new URL(uri);
  const isWeb = protocol === "https:" || protocol === "http:";
  return isWeb && !hostname.startsWith("[") ? `${protocol}//${host}` : protocol;
}

function placeOf(uri: string): string {
  const { protocol, host } = new URL(uri);
  return protocol === "https:" || protocol === "http:" ? host : protocol;
}
