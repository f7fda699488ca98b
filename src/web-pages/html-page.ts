import { hash } from "node:crypto";
import type { HttpResponse } from "../lib/http-response.ts";

/** An HTML page without scripts. */
export interface HtmlPage {
  /** `en`, `de` … */
  language: string;
  status: number;
  title: string;
  content: Markup;
  /** CSP value of form-action: `'self'`, `'none'`. */
  formTargets: string;
  /** Request headers that the page depends on. */
  vary: string;
  /** Additional CSS; must not contain untrusted text. */
  style?: string;
  /** Header above the content; default: product logo and name. */
  header?: Markup | null;
  /** Shows a picture of our own origin. */
  hasPicture?: boolean;
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

const BELL = rawHtml(
  '<svg width="32" height="32" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#24408e"/><path d="M16 6a7 7 0 0 0-7 7v6l-2 3h18l-2-3v-6a7 7 0 0 0-7-7zm-3 18a3 3 0 0 0 6 0z" fill="#fff"/></svg>',
);

/** Renders a page in the colours of the console, with a strict CSP: no scripts, no external resources, no framing. */
export function renderHtmlPage(given: HtmlPage): HttpResponse {
  const { language, status, title, content, formTargets, vary, header, hasPicture = false } = given;
  const style = STYLE + (given.style ?? "");
  const page = html`<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} – Carillon</title><style>${rawHtml(style)}</style></head>
<body><main><header>${header ?? html`${BELL}Carillon`}</header>${content}</main></body></html>`;
  return {
    status,
    headers: pageHeaders(`'sha256-${hash("sha256", style, "base64")}'`, formTargets, vary, hasPicture),
    type: "text/html; charset=utf-8",
    body: page.text,
  };
}

/**
 * Headers of a page without scripts that has one style, named by its hash as the content policy has it. Without the own
 * origin as referrer browsers would send forms with an origin of `null`.
 */
export function pageHeaders(
  styleHash: string,
  formTargets: string,
  vary: string,
  hasPicture = false,
): Record<string, string> {
  const policy = ["default-src 'none'", `style-src ${styleHash}`, `form-action ${formTargets}`];
  if (hasPicture) policy.push("img-src 'self'");
  policy.push("base-uri 'none'", "frame-ancestors 'none'");
  return {
    "Content-Security-Policy": policy.join("; "),
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    Vary: vary,
  };
}

/** Text that is HTML already. */
export interface Markup {
  text: string;
}

/** Marks a string as HTML; never use it for untrusted text. */
export function rawHtml(text: string): Markup {
  return { text };
}

/** HTML template tag that escapes all values except markup. */
export function html(parts: TemplateStringsArray, ...values: (string | Markup | readonly Markup[])[]): Markup {
  const texts = values.map((value) => {
    if (typeof value === "string") return escaped(value);
    return "text" in value ? value.text : value.map((each) => each.text).join("");
  });
  return rawHtml(parts.map((part, at) => part + (texts[at] ?? "")).join(""));
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
