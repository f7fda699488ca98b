import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { beforeEach, describe, expect, it } from "vitest";
import { createHandbook } from "../../../src/http/handbook.ts";
import { handbookPath, parseHandbookPage } from "../../../src/web-pages/help/handbook-page.ts";
import { searchHandbook } from "../../../src/web-pages/help/handbook-search.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const HANDBOOK = join(import.meta.dirname, "../../../docs/admin");

const markupOf = (markdown: string) => parseHandbookPage("sample", markdown).content.text;

describe("a handbook page", () => {
  it("takes title and order from the front matter", () => {
    const page = parseHandbookPage(
      "bells",
      "---\r\ntitle: Bells: an overview\r\norder: 30\r\n---\r\n\r\n# Bells\r\n\r\nText",
    );
    expect(page).toMatchObject({ name: "bells", title: "Bells: an overview", order: 30 });
    expect(page.content.text).toBe('<h1 id="bells">Bells</h1>\n<p>Text</p>\n');
    expect(parseHandbookPage("bells", "Text")).toMatchObject({ title: "bells", order: Number.MAX_SAFE_INTEGER });
  });

  it("renders tables, lists and code", () => {
    const markup = markupOf(
      "| A | B |\n|---|---|\n| `a\\|b` | **c** |\n\n- one\n- two\n\n```\na < b && c &amp; d\n```\n",
    );
    expect(markup).toContain("<td><code>a|b</code></td>\n<td><strong>c</strong></td>");
    expect(markup).toContain("<li>one</li>");
    expect(markup).toContain('<pre tabindex="0"><code>a &lt; b &amp;&amp; c &amp;amp; d</code></pre>');
  });

  it("gives headings the anchors of GitHub, each once", () => {
    const { sections } = parseHandbookPage(
      "x",
      "# Log in: `carillon` & co\n\nA.\n\n## Set-up\n\nB\n\n## Set-up\n\n#### Deep\n\nC",
    );
    expect(sections).toEqual([
      { id: "log-in-carillon--co", level: 1, heading: "Log in: carillon & co", text: "A." },
      { id: "set-up", level: 2, heading: "Set-up", text: "B" },
      { id: "set-up-1", level: 2, heading: "Set-up", text: "Deep C" },
    ]);
  });

  it.each([
    ["[a](bells.md)", '<a href="/help/bells">a</a>'],
    ["[a](bells.md#set-up)", '<a href="/help/bells#set-up">a</a>'],
    ["[a](index.md#b)", '<a href="/help/#b">a</a>'],
    ["[a](#b)", '<a href="#b">a</a>'],
    ['[a](https://example.org/?a=1&copy=2 "b")', '<a href="https://example.org/?a=1&amp;copy=2">a</a>'],
    ["[a](javascript:alert(1))", "a"],
    ["[a](java&#115;cript:alert(1))", "a"],
    ["[a](data:text/html,x)", "a"],
    ["[a](../architecture.md)", "a"],
    ["[a](/etc/passwd)", "a"],
    ["![a](images/year-view.png)", '<img src="/help/images/year-view.png" alt="a" loading="lazy">'],
    ['![" onerror="x](images/a.png)', '<img src="/help/images/a.png" alt="&quot; onerror=&quot;x" loading="lazy">'],
    ["![a](https://example.org/a.png)", "a"],
    ["![a](images/../../a.png)", "a"],
  ])("links only to pages, anchors, own images and web addresses: %s", (markdown, markup) => {
    expect(markupOf(markdown)).toBe(`<p>${markup}</p>\n`);
  });

  it.each([
    "<script>alert(1)</script>",
    "a <script> <img/src=x/onerror=alert(1)> </script>",
    "<code><img/src=x/onerror=alert(1)></code>",
    "<img src=x onerror=alert(1)>",
    "**<b onclick=x>**",
    "| <i> |\n|---|\n| <u onclick=x> |",
    "# <b onclick=x>",
    "`<b onclick=x>`",
    '[<b onclick=x>](#a "<b>")',
    '```"><b onclick=x>\n<b onclick=x>\n```',
    "    <b onclick=x>",
    "\\<b onclick=x>",
  ])("escapes HTML: %s", (markdown) => {
    const markup = markupOf(markdown);
    expect(markup).not.toMatch(/<(?:b|i|u|script|img\/)\b|<[^>]* on(?:click|error)=/);
    expect(markup).toContain("&lt;");
  });
});

describe("the search", () => {
  const pages = [
    parseHandbookPage(
      "a",
      "---\ntitle: Networks\norder: 1\n---\n# Networks\n\n## Ports\n\nOpen the *multicast* ports. Ports <b> a+b\n",
    ),
    parseHandbookPage(
      "b",
      `---\ntitle: Bells\norder: 2\n---\n# Bells\n\n## Multicast\n\n${"filler ".repeat(60)}bells ring ${"filler ".repeat(60)}\n`,
    ),
  ];
  const found = (query: string) =>
    searchHandbook(pages, query).map(({ page, section }) => `${page.name}#${section.id}`);

  it("finds sections with all words, headings first", () => {
    expect(found("MULTICAST")).toEqual(["b#multicast", "a#ports"]);
    expect(found("multicast  ports")).toEqual(["a#ports"]);
    expect(found("ports bells")).toEqual([]);
  });

  it("finds a page by its title, and a section by the title and a word of the section", () => {
    expect(found("networks")).toEqual(["a#networks"]);
    expect(found("networks multicast")).toEqual(["a#ports"]);
  });

  it("shows whole words around the match and marks them", () => {
    expect(searchHandbook(pages, "ports <b>")[0]?.excerpt.filter((_, at) => at % 2 === 1)).toEqual([
      "ports",
      "Ports",
      "<b>",
    ]);
    const excerpt = searchHandbook(pages, "bells ring")[0]?.excerpt ?? [];
    expect(excerpt[1]).toBe("bells");
    expect(excerpt.join("")).toMatch(/^… filler .*filler …$/);
    expect(excerpt.join("").length).toBeLessThan(260);
  });

  it("takes signs of regular expressions as they are and ignores what exceeds the limits", () => {
    expect(found("a+b")).toEqual(["a#ports"]);
    expect(found("(.*")).toEqual([]);
    expect(found(" ")).toEqual([]);
    expect(found(`multicast ${"ports ".repeat(50)} absent`)).toEqual(["a#ports"]);
    const many = Array.from({ length: 50 }, (_, at) => parseHandbookPage(`p${at}`, "# Bell\n\nbell"));
    expect(searchHandbook(many, "bell")).toHaveLength(30);
  });
});

describe("the served handbook", () => {
  let folder: string;
  beforeEach(() => {
    folder = join(makeTempDir(), "admin");
    mkdirSync(join(folder, "images"), { recursive: true });
    writeFileSync(
      join(folder, "index.md"),
      "---\ntitle: Handbook\norder: 0\n---\n# Handbook\n\nSee [bells](bells.md).\n",
    );
    writeFileSync(
      join(folder, "bells.md"),
      "---\ntitle: Bells\norder: 10\n---\n# Bells\n\n## Drift\n\nClock drift <1 s.\n",
    );
    writeFileSync(join(folder, "images/a.png"), Buffer.of(1, 2, 3));
    writeFileSync(join(folder, "../secret.md"), "secret");
    writeFileSync(join(folder, "order.json"), "secret");
  });
  let now = 0;
  const open = () => {
    const handbook = createHandbook(pathToFileURL(`${folder}/`), { monotonicMs: () => now });
    return async (path: string, search = "", acceptEncoding?: string) => {
      const { status = 200, headers = {}, type, body } = await handbook.respond(path, search, acceptEncoding);
      return { status, headers, type, text: String(body), body };
    };
  };

  it("has the start page, a search box and the table of contents at /help/", async () => {
    const get = open();
    const { status, headers, text } = await get("/help/");
    expect(status).toBe(200);
    expect(text).toContain('<h1 id="handbook">Handbook</h1>');
    expect(text).toContain('<form action="/help/search" role="search">');
    expect(text).toContain('<a href="/help/" aria-current="page">Handbook</a></li><li><a href="/help/bells">Bells</a>');
    expect(headers["Content-Security-Policy"]).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; img-src 'self'/,
    );
    for (const path of ["/help", "/help/index"]) expect((await get(path)).text).toBe(text);
  });

  it("lists the sections of a page", async () => {
    expect((await open()("/help/bells")).text).toContain(
      '<h2>On this page</h2><ul><li><a href="#drift">Drift</a></li></ul>',
    );
  });

  it("shows the hits of a search, escaped", async () => {
    const get = open();
    const { status, text } = await get("/help/search", "q=drift+%3C1");
    expect(status).toBe(200);
    expect(text).toContain(
      '<a href="/help/bells#drift">Bells › Drift</a><p>Clock <mark>drift</mark> <mark>&#60;1</mark> s.</p>',
    );
    expect((await get("/help/search", "q=%22%3E%3Cscript%3E")).text).toContain('value="&#34;&#62;&#60;script&#62;"');
    expect((await get("/help/search", "q=absent")).text).toContain("No section contains all words.");
    expect((await get("/help/search")).text).toContain("Enter one or more words.");
  });

  it("serves images of the folder", async () => {
    expect(await open()("/help/images/a.png")).toMatchObject({
      status: 200,
      type: "image/png",
      text: "\u0001\u0002\u0003",
    });
  });

  it.each([
    "absent",
    "bells/",
    "bells.md",
    "../secret",
    "..%2fsecret",
    "%2e%2e/secret",
    "images/../../secret.md",
    "images/..%2f..%2fsecret.md",
    "images/a.png/",
    "images/",
    "order.json",
    "order",
    "/etc/passwd",
    "__proto__",
  ])("answers 404 to an unknown page: %s", async (name) => {
    const { status, text } = await open()(`/help/${name}`);
    expect([status, text.includes("secret")]).toEqual([404, false]);
    expect(text).toContain("Page not found");
  });

  it("reads a file again after a change, and sees new and deleted files", async () => {
    const get = open();
    await get("/help/");
    const at = join(folder, "bells.md");
    writeFileSync(at, "# Rung\n");
    utimesSync(at, new Date(), new Date(Date.now() + 5_000));
    writeFileSync(join(folder, "new.md"), "# New\n");
    // Not before two seconds, however many ask.
    expect((await get("/help/bells")).text).not.toContain("Rung");
    now += 2_000;
    expect((await get("/help/bells")).text).toContain("Rung");
    expect((await get("/help/new")).status).toBe(200);
  });

  it("renders and compresses a page once", async () => {
    const get = open();
    const first = await get("/help/bells", "", "gzip");
    expect(first.headers["Content-Encoding"]).toBe("gzip");
    expect(first.headers["Content-Security-Policy"]).toContain("default-src 'none'");
    expect(gunzipSync(first.body as Uint8Array).toString()).toBe((await get("/help/bells")).text);
    expect((await get("/help/bells", "", "gzip")).body).toBe(first.body);
    now += 2_000;
    expect((await get("/help/bells", "", "gzip")).body).toBe(first.body);
  });

  it("leaves out files that are too large", async () => {
    writeFileSync(join(folder, "bells.md"), "x".repeat(600_000));
    expect((await open()("/help/bells")).status).toBe(404);
  });

  it("says so when the folder is missing", async () => {
    folder = join(folder, "absent");
    const { status, text } = await open()("/help/");
    expect(status).toBe(404);
    expect(text).toContain("The handbook is not installed");
  });
});

describe("docs/admin", () => {
  const files = readdirSync(HANDBOOK).filter((file) => file.endsWith(".md"));
  const texts = new Map(files.map((file) => [file.replace(/\.md$/, ""), readFileSync(join(HANDBOOK, file), "utf8")]));
  const pages = [...texts].map(([name, text]) => parseHandbookPage(name, text));
  const anchorsOf = ({ text }: { text: string }) => [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);

  it("has a title, an order and one first heading on each page", () => {
    expect(new Set(pages.map(({ order }) => order)).size).toBe(pages.length);
    for (const { name, title, order, sections } of pages) {
      expect([name, Number.isSafeInteger(order), sections.filter(({ level }) => level === 1).length]).toEqual([
        name,
        true,
        1,
      ]);
      expect(title).toBe(sections[0]?.heading);
    }
  });

  it("has only valid links", () => {
    const targets = new Set(
      pages.flatMap(({ name, content }) => [
        handbookPath(name),
        ...anchorsOf(content).map((id) => `${handbookPath(name)}#${id}`),
      ]),
    );
    const broken = pages.flatMap(({ name, content }) =>
      [...content.text.matchAll(/<a href="([^"]+)"/g)]
        .map(([, href = ""]) => (href.startsWith("#") ? handbookPath(name) + href : href))
        .filter((href) => !href.startsWith("http") && !targets.has(href))
        .map((href) => `${name}: ${href}`),
    );
    expect(broken).toEqual([]);
    // A link to anything else is rendered as text.
    const unknown = [...texts].flatMap(([name, text]) =>
      [...text.replace(/```[\s\S]*?```|`[^`\n]*`/g, "").matchAll(/\]\(([^)]*)\)/g)]
        .filter(
          ([, href = ""]) =>
            !/^(?:[a-z0-9-]+\.md(?:#[\w-]+)?|#[\w-]+|https?:\S+|images\/[a-z0-9-]+\.(?:png|svg|webp))$/.test(href),
        )
        .map(([, href]) => `${name}: ${href}`),
    );
    expect(unknown).toEqual([]);
  });
});
