import { hash } from "node:crypto";
import type { AuthorizationRequest } from "../access/authorization.ts";
import type { Answer } from "./action.ts";
import { type AuthorizeWords, filled } from "./authorize-words.ts";

/** What every page of log-in and consent has. */
interface PageBase {
  words: AuthorizeWords;
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
}

/** The page that asks whether an application may act for somebody. */
export interface ConsentPage extends FormPage {
  userName: string;
  /** Where another account can be used. */
  otherAccount: string;
  notice: string | null;
}

/** Colours are the console's; every pair has a contrast of 4.5. */
const STYLE = `
:root{color-scheme:light dark;--page:#f4f5f8;--card:#fff;--line:#767e91;--ink:#1b2030;--soft:#50586b;--accent:#24408e;--on:#fff;--bad:#b01d24}
@media(prefers-color-scheme:dark){:root{--page:#12151d;--card:#1b1f2a;--line:#7b859b;--ink:#e9ecf4;--soft:#aab3c7;--accent:#a9bdf7;--on:#12151d;--bad:#ff9a9a}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:16px;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif}
main{width:100%;max-width:26rem;padding:24px;background:var(--card);border-radius:12px;overflow-wrap:anywhere}
header{display:flex;align-items:center;gap:8px;font-weight:600;color:var(--soft)}
h1{font-size:1.4rem;line-height:1.25;margin:16px 0 8px}
label{display:block;margin-top:16px;font-weight:600}
input{width:100%;margin-top:4px;padding:10px;font:inherit;color:inherit;background:transparent;border:1px solid var(--line);border-radius:8px}
button{width:100%;margin-top:16px;padding:12px;font:inherit;font-weight:600;border:1px solid var(--accent);border-radius:8px;background:var(--accent);color:var(--on);cursor:pointer}
button.plain{margin-top:8px;background:transparent;color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
a{color:var(--accent)}
small{color:var(--soft)}
[role=alert]{color:var(--bad);font-weight:600}
`;
const STYLE_HASH = `'sha256-${hash("sha256", STYLE, "base64")}'`;

const BELL = raw(
  '<svg width="32" height="32" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#24408e"/><path d="M16 6a7 7 0 0 0-7 7v6l-2 3h18l-2-3v-6a7 7 0 0 0-7-7zm-3 18a3 3 0 0 0 6 0z" fill="#fff"/></svg>',
);

/** Asks for address and password. */
export function logInPage(page: LogInPage): Answer {
  const { words, request, email, asksNewPassword } = page;
  const field = (name: string, label: string, type: string, completes: string, value = ""): Markup =>
    html`<label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${completes}" required${raw(name === "new_password" ? ' aria-describedby="hint"' : "")}>`;
  const fresh = html`${field("new_password", words.newPassword, "password", "new-password")}<small id="hint">${words.newPasswordHint}</small>`;
  return answer(
    page,
    words.logIn,
    html`<h1>${words.logIn}</h1><p>${filled(words.logInFor, { app: request.application.name })}</p>${noticeOf(page.notice)}
${form(page, html`${field("email", words.email, "email", "username", email)}${field("password", words.password, "password", "current-password")}${asksNewPassword ? fresh : ""}<button>${words.logIn}</button>`)}`,
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
  { words, status }: PageBase,
  title: string,
  content: Markup,
  request: AuthorizationRequest | null,
): Answer {
  const page = html`<!doctype html><html lang="${words.language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} – Carillon</title><style>${raw(STYLE)}</style></head>
<body><main><header>${BELL}Carillon</header>${content}</main></body></html>`;
  return { status, headers: headersFor(request), type: "text/html; charset=utf-8", body: page.text };
}

/**
 * No scripts, nothing from elsewhere, in nobody's frame. Browsers follow a form only where the policy lets it lead, which
 * is the application, too. Without the own origin as referrer they would send forms with an origin of `null`.
 */
function headersFor(request: AuthorizationRequest | null): Record<string, string> {
  const targets = request ? `'self' ${sourceOf(request.redirectUri)}` : "'none'";
  const policy = ["default-src 'none'", `style-src ${STYLE_HASH}`, `form-action ${targets}`];
  policy.push("base-uri 'none'", "frame-ancestors 'none'");
  return {
    "Content-Security-Policy": policy.join("; "),
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    Vary: "Accept-Language, Cookie",
  };
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

/** Text that is HTML already. */
interface Markup {
  text: string;
}

function raw(text: string): Markup {
  return { text };
}

/** HTML in which every value is escaped that is no HTML itself. */
function html(parts: TemplateStringsArray, ...values: (string | Markup | readonly Markup[])[]): Markup {
  const texts = values.map((value) => {
    if (typeof value === "string") return escaped(value);
    return "text" in value ? value.text : value.map((each) => each.text).join("");
  });
  return raw(parts.map((part, at) => part + (texts[at] ?? "")).join(""));
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
