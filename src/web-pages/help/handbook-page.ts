import { Marked, Renderer } from "marked";
import { type Markup, rawHtml } from "../html-page.ts";

/** A page of the administrator handbook. */
export interface HandbookPage {
  /** File name without extension; `index` is the start page. */
  name: string;
  title: string;
  /** Position in the table of contents. */
  order: number;
  content: Markup;
  sections: readonly HandbookSection[];
}

/** A heading of a page and the text up to the next heading. */
export interface HandbookSection {
  /** Anchor of the heading. */
  id: string;
  /** 1 to 3. */
  level: number;
  heading: string;
  text: string;
}

const FRONT_MATTER = /^---\n([\s\S]*?)\n---\n/;
const PAGE_LINK = /^([a-z0-9-]+)\.md(#[\w-]+)?$/;
const IMAGE_LINK = /^images\/[a-z0-9-]+\.(?:png|svg|webp)$/;

/** Parses a page: front matter with `title` and `order`, then GitHub Flavored Markdown. HTML in it is shown as text. */
export function parseHandbookPage(name: string, file: string): HandbookPage {
  const text = file.replaceAll("\r\n", "\n");
  const [head = "", fields = ""] = FRONT_MATTER.exec(text) ?? [];
  const content = markdownToHtml(text.slice(head.length));
  return {
    name,
    title: /^title: *(.+)$/m.exec(fields)?.[1]?.trim() ?? name,
    order: Number(/^order: *(\d+)$/m.exec(fields)?.[1] ?? Number.MAX_SAFE_INTEGER),
    content: rawHtml(content),
    sections: sectionsOf(content),
  };
}

/** URL path of a page. */
export function handbookPath(name: string): string {
  return name === "index" ? "/help/" : `/help/${name}`;
}

function markdownToHtml(markdown: string): string {
  const ids = new Map<string, number>();
  const { table } = Renderer.prototype;
  const marked = new Marked({
    renderer: {
      // Unlike the default, also escapes text that the parser takes for the content of a raw HTML element.
      text(token) {
        return "tokens" in token && token.tokens ? this.parser.parseInline(token.tokens) : escaped(token.text);
      },
      html: (token) => escaped(token.text),
      heading({ tokens, depth }) {
        const inner = this.parser.parseInline(tokens);
        const slug = slugOf(plainText(inner));
        const uses = ids.get(slug) ?? 0;
        ids.set(slug, uses + 1);
        return `<h${depth} id="${uses === 0 ? slug : `${slug}-${uses}`}">${inner}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const target = linkTarget(href);
        return target === null ? inner : `<a href="${escaped(target)}">${inner}</a>`;
      },
      image: ({ href, text }) =>
        IMAGE_LINK.test(href) ? `<img src="/help/${href}" alt="${escaped(text)}" loading="lazy">` : escaped(text),
      // Scrollable, so the keyboard must reach them.
      code: ({ text }) => `<pre tabindex="0"><code>${escaped(text.replaceAll("&", "&amp;"))}</code></pre>\n`,
      table(token) {
        return `<div class="table" role="group" aria-label="Table" tabindex="0">${table.call(this, token)}</div>`;
      },
    },
  });
  return marked.parse(markdown, { async: false });
}

/** Another page, an anchor or a web address; null for anything else. */
function linkTarget(href: string): string | null {
  if (/^(?:#[\w-]+|https?:\/\/\S+)$/.test(href)) return href;
  const [, name, anchor = ""] = PAGE_LINK.exec(href) ?? [];
  return name === undefined ? null : handbookPath(name) + anchor;
}

/** Anchor of a heading, as on GitHub. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

function sectionsOf(content: string): HandbookSection[] {
  return content.split(/(?=<h[1-3] id=")/).flatMap((part) => {
    const [head, level, id = "", heading = ""] = /^<h([1-3]) id="([^"]*)">(.*?)<\/h\1>/.exec(part) ?? [];
    if (head === undefined) return [];
    return [{ id, level: Number(level), heading: plainText(heading), text: plainText(part.slice(head.length)) }];
  });
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };

function plainText(markup: string): string {
  return markup
    .replace(/<\/?(?:a|code|del|em|strong)\b[^>]*>/g, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => ENTITIES[name] ?? "")
    .replace(/\s+/g, " ")
    .trim();
}

/** Escapes for text and quoted attributes; entities of the Markdown stay. */
function escaped(text: string): string {
  return text
    .replace(/&(?!#?\w+;)/g, "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
