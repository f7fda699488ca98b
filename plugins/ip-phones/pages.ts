import { createHmac } from "node:crypto";
import type { DeliveryItem, PluginRequest, PluginResponse } from "#plugin-api";
import { imagePage, type PageContent, textPage } from "./message-page.ts";
import { fitsDisplay, loadImage, type PageImage } from "./page-images.ts";
import { modelOf } from "./phone-models.ts";

/** The pages that phones fetch after a push. */
export interface Pages {
  /** Keeps the item's page and gives its URL, which cannot be guessed; equal content has one page. */
  add(item: Pick<DeliveryItem, "text" | "drill" | "imagePath">): string;
  /** Answers a phone's request; null when the path is none of a page. */
  respond(request: PluginRequest): Promise<PluginResponse> | PluginResponse | null;
}

interface Page {
  url: string;
  content: PageContent;
  imagePath: string | null;
  /** Read when the first phone asks. */
  image: Promise<PageImage | null> | null;
}

/** own choice: pages are small, and a phone may turn back to one long after its message. */
const MOST_PAGES = 500;
/** Keeps a page out of the phone's history. */
const HEADERS = { "Content-Type": "text/xml; charset=utf-8", Expires: "-1" };
const PATH = /\/page\/([\w-]{22})(?:\/(text|image\.png))?$/;

/** Makes the store; pages lie beside the public URL of the own port, and `key` makes their names secret. */
export function createPages(portUrl: () => string, key: Uint8Array): Pages {
  const pages = new Map<string, Page>();
  // Thousands of deliveries in a row have the same page.
  let last: Page | null = null;
  return {
    add({ text: { subject, body, short }, drill, imagePath }) {
      const content = { subject, body, short, drill };
      if (last && last.imagePath === imagePath && isSame(last.content, content)) return last.url;
      const identity = JSON.stringify([subject, body, short, drill, imagePath]);
      const token = createHmac("sha256", key).update(identity).digest("base64url").slice(0, 22);
      last = pages.get(token) ?? { url: new URL(`page/${token}`, portUrl()).href, content, imagePath, image: null };
      pages.delete(token);
      pages.set(token, last);
      for (const oldest of pages.keys()) {
        if (pages.size <= MOST_PAGES) break;
        pages.delete(oldest);
      }
      return last.url;
    },
    respond(request) {
      const [, token, part] = PATH.exec(request.url.split("?", 1)[0] ?? "") ?? [];
      if (token === undefined) return null;
      if (request.method !== "GET") return { status: 405 };
      const page = pages.get(token);
      if (!page) return { status: 404 };
      if (page.imagePath === null || part === "text") return xml(textPage(page.content));
      return respondWithImage(page, page.imagePath, part, request);
    },
  };
}

async function respondWithImage(
  page: Page,
  path: string,
  part: string | undefined,
  request: PluginRequest,
): Promise<PluginResponse> {
  page.image ??= loadImage(path);
  const image = await page.image;
  if (part === "image.png") {
    return image ? { status: 200, headers: { "Content-Type": "image/png" }, body: image.bytes } : { status: 404 };
  }
  const model = modelOf(headerOf(request, "x-ciscoipphonemodelname"));
  const shown = image !== null && fitsDisplay(image, model, headerOf(request, "x-ciscoipphonedisplay"));
  if (!shown) return xml(textPage(page.content));
  return xml(imagePage(page.content, `${page.url}/image.png`, `${page.url}/text`));
}

function isSame(one: PageContent, other: PageContent): boolean {
  const { subject, body, short, drill } = other;
  return one.subject === subject && one.body === body && one.short === short && one.drill === drill;
}

function headerOf(request: PluginRequest, name: string): string {
  const value = request.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? "";
}

function xml(body: string): PluginResponse {
  return { status: 200, headers: HEADERS, body };
}
