/** An answer after all redirects and refreshes. */
export interface VisitedPage {
  status: number;
  url: URL;
  text: string;
  headers: Headers;
}

/** Fields of a form to send; those of the page are sent along. */
export type FormFields = Readonly<Record<string, string>>;

/** A browser without a screen: it keeps cookies by origin and path, follows redirects and refreshes, and sends forms. */
export interface BrowserSession {
  open(url: string, options?: { language?: string }): Promise<VisitedPage>;
  /** Sends the first form of a page; `before`: it stops where it would go on to an address that begins so, without asking there. */
  submit(page: VisitedPage, filled?: FormFields, before?: string): Promise<VisitedPage>;
  /** The cookies that it would send to a URL, as a header. */
  cookies(url: string): string;
  /** Forgets all cookies. */
  forget(): void;
}

interface Cookie {
  origin: string;
  name: string;
  value: string;
  path: string;
}

const MAX_REDIRECTS = 20;

/** Makes one without cookies. */
export function createBrowserSession(): BrowserSession {
  let jar: Cookie[] = [];
  let language = "en";

  const cookies = (url: string): string => {
    const { origin, pathname } = new URL(url);
    const fitting = jar.filter((each) => each.origin === origin && pathname.startsWith(each.path));
    return fitting.map(({ name, value }) => `${name}=${value}`).join("; ");
  };

  function keep(url: URL, headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split(";").map((each) => each.trim());
      const name = pair.slice(0, pair.indexOf("="));
      const value = pair.slice(name.length + 1);
      const attribute = (key: string): string | undefined =>
        attributes.find((each) => each.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1);
      const path = attribute("path") ?? url.pathname.slice(0, url.pathname.lastIndexOf("/") + 1);
      jar = jar.filter((each) => each.origin !== url.origin || each.name !== name || each.path !== path);
      const isOver = attribute("max-age") === "0" || Date.parse(attribute("expires") ?? "") < Date.now();
      if (value !== "" && !isOver) jar.push({ origin: url.origin, name, value, path });
    }
  }

  async function go(first: string, init: RequestInit = {}, before?: string): Promise<VisitedPage> {
    let url = new URL(first);
    let sending = init;
    for (let step = 0; step < MAX_REDIRECTS; step += 1) {
      const headers = {
        ...(sending.headers as Record<string, string>),
        cookie: cookies(url.href),
        "accept-language": language,
      };
      const response = await fetch(url, { ...sending, headers, redirect: "manual" });
      keep(url, response.headers);
      const text = await response.text();
      const next = response.headers.get("location") ?? /url=(.*)$/.exec(response.headers.get("refresh") ?? "")?.[1];
      if (next === undefined || next === null) return { status: response.status, url, text, headers: response.headers };
      url = new URL(next, url);
      if (before !== undefined && url.href.startsWith(before))
        return { status: 0, url, text, headers: response.headers };
      sending = {};
    }
    throw new Error("The redirects come to no end.");
  }

  return {
    open(url, options = {}) {
      language = options.language ?? "en";
      return go(url);
    },
    submit({ url, text }, filled = {}, before) {
      const form = /<form[^>]*>[\s\S]*?<\/form>/i.exec(text)?.[0] ?? "";
      const given = [...form.matchAll(/<input[^>]*>/gi)].flatMap(([input]) => {
        const [name, value] = ["name", "value"].map((each) => new RegExp(`${each}="([^"]*)"`).exec(input)?.[1]);
        return name === undefined ? [] : [[name, plain(value ?? "")] as const];
      });
      const action = plain(/action="([^"]*)"/.exec(form)?.[1] ?? url.href);
      const body = new URLSearchParams({ ...Object.fromEntries(given), ...filled });
      return go(new URL(action, url).href, { method: "POST", body }, before);
    },
    cookies,
    forget() {
      jar = [];
    },
  };
}

function plain(text: string): string {
  return text
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, "&")
    .replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code)));
}
