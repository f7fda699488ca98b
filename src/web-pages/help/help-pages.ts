import type { HttpResponse } from "../../lib/http-response.ts";
import { html, type Markup, PRODUCT_LOGO, rawHtml, renderHtmlPage } from "../html-page.ts";
import { type HandbookPage, handbookPath } from "./handbook-page.ts";
import { MAX_QUERY_LENGTH, searchHandbook } from "./handbook-search.ts";

const STYLE = `
body{display:block;padding:0;background:var(--card)}
main{max-width:76rem;margin:0 auto;padding:16px 24px 48px;border-radius:0;display:grid;gap:8px 40px;grid-template-columns:minmax(0,1fr)}
header{flex-wrap:wrap;gap:8px 16px}
header form{display:flex;gap:8px;margin-left:auto;flex:0 1 24rem}
header input{margin:0;padding:6px 10px;min-width:0;font-weight:400}
::placeholder{color:var(--soft);opacity:1}
header button{width:auto;flex:none;margin:0;padding:6px 16px}
header label{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}
nav{font-size:.95rem}
nav h2{font-size:1rem;margin:16px 0 4px}
nav ul{list-style:none;margin:0;padding:0}
nav li{padding:3px 0}
nav [aria-current]{font-weight:700;color:var(--ink);text-decoration:none}
article{max-width:52rem}
h2{font-size:1.2rem;margin:32px 0 8px}h3{font-size:1.05rem;margin:24px 0 4px}
article :target{outline:2px solid var(--accent);outline-offset:4px}
pre,.table{overflow-x:auto}
pre{padding:12px;border:1px solid var(--line);border-radius:8px;overflow-wrap:normal}
code{font:.9em ui-monospace,"Liberation Mono",monospace}
table{border-collapse:collapse;width:100%;overflow-wrap:break-word}
th,td{text-align:left;vertical-align:top;padding:4px 12px 4px 0;border-bottom:1px solid var(--line)}
img{max-width:100%;height:auto}
mark{background:none;color:inherit;font-weight:700;text-decoration:underline}
.hits{padding-left:1.5rem}.hits p{margin:0 0 16px}
@media(min-width:60rem){main{grid-template-columns:16rem minmax(0,1fr)}header{grid-column:1/-1}header a[href="#contents"]{display:none}nav{grid-column:1;grid-row:2}article{grid-column:2;grid-row:2}}
@page{margin:15mm}
@media print{:root{--page:#fff;--card:#fff;--line:#767e91;--ink:#000;--soft:#333;--accent:#000}nav,header form{display:none}main{display:block;max-width:none;padding:0}pre,.table{overflow:visible}pre{white-space:pre-wrap}h2,h3{break-after:avoid}tr,pre{break-inside:avoid}}
`;

/** Renders a page of the handbook with the table of contents. */
export function renderHandbookPage(pages: readonly HandbookPage[], page: HandbookPage): HttpResponse {
  return renderHelp(pages, { title: page.title, content: page.content, current: page });
}

/** Renders the search results for a query. */
export function renderHandbookSearch(pages: readonly HandbookPage[], given: string): HttpResponse {
  const query = given.slice(0, MAX_QUERY_LENGTH);
  const hits = searchHandbook(pages, query);
  const items = hits.map(({ page, section, excerpt }) => {
    const name = section.level === 1 ? page.title : `${page.title} › ${section.heading}`;
    const parts = excerpt.map((part, at) => (at % 2 === 1 ? html`<mark>${part}</mark>` : html`${part}`));
    return html`<li><a href="${handbookPath(page.name)}#${section.id}">${name}</a><p>${parts}</p></li>`;
  });
  const summary = hits.length === 0 ? "No section contains all words." : `Sections found: ${hits.length}.`;
  const results = html`<p role="status">${summary}</p><ol class="hits">${items}</ol>`;
  const content = html`<h1>Search</h1>${query.trim() === "" ? html`<p>Enter one or more words.</p>` : results}`;
  return renderHelp(pages, { title: "Search", content, query });
}

/** Renders the response to an unknown address below `/help/`. */
export function renderMissingHandbookPage(pages: readonly HandbookPage[]): HttpResponse {
  const reason =
    pages.length === 0
      ? "The handbook is not installed: the folder docs/admin is missing or empty."
      : "The handbook has no such page. Use the search or the table of contents.";
  const content = html`<h1>Page not found</h1><p>${reason}</p>`;
  return { ...renderHelp(pages, { title: "Page not found", content }), status: 404 };
}

interface HelpContent {
  title: string;
  content: Markup;
  /** Page to mark in the table of contents. */
  current?: HandbookPage;
  /** Text of the search box. */
  query?: string;
}

function renderHelp(
  pages: readonly HandbookPage[],
  { title, content, current, query = "" }: HelpContent,
): HttpResponse {
  const header = html`${PRODUCT_LOGO}<a href="/help/">Administrator handbook</a> <a href="#contents">Contents</a> <a href="/">Console</a><form action="/help/search" role="search"><label for="q">Search the handbook</label><input id="q" name="q" type="search" maxlength="${String(MAX_QUERY_LENGTH)}" placeholder="Search the handbook" value="${query}"><button>Search</button></form>`;
  return renderHtmlPage({
    language: "en",
    status: 200,
    title,
    content: html`<article>${content}</article>${tableOfContents(pages, current)}`,
    formTargets: "'self'",
    vary: "Accept-Encoding",
    style: STYLE,
    header,
    hasPicture: true,
  });
}

function tableOfContents(pages: readonly HandbookPage[], current: HandbookPage | undefined): Markup {
  const sections = current?.sections.filter(({ level }) => level === 2) ?? [];
  const onPage = sections.map(({ id, heading }) => html`<li><a href="#${id}">${heading}</a></li>`);
  const links = pages.map((page) => {
    const mark = page === current ? rawHtml(' aria-current="page"') : rawHtml("");
    return html`<li><a href="${handbookPath(page.name)}"${mark}>${page.title}</a></li>`;
  });
  const ofPage = onPage.length === 0 ? rawHtml("") : html`<h2>On this page</h2><ul>${onPage}</ul>`;
  return html`<nav id="contents" aria-label="Contents">${ofPage}<h2>Contents</h2><ul>${links}</ul></nav>`;
}
