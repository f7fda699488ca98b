import { createHmac } from "node:crypto";
import type { DeliveryItem, PluginRequest, PluginResponse } from "#plugin-api";
import { imagePage, type MessagePage, textPage } from "./message-page.ts";
import { displayName, displayOfPhone, parseDisplayName } from "./phone-display.ts";
import { phoneModelByName } from "./phone-models.ts";
import type { PictureStore } from "./picture-store.ts";

/** Pages that phones fetch after a push. */
export interface PageStore {
  /** Stores the item's page and returns its unguessable URL; equal content shares a page. */
  add(item: Pick<DeliveryItem, "text" | "drill" | "imagePath" | "profile">): string;
  /** Handles a phone's request; null if the path is not a page. */
  respond(request: PluginRequest): Promise<PluginResponse> | PluginResponse | null;
}

interface StoredPage {
  url: string;
  content: MessagePage;
  imagePath: string | null;
}

/** Pages are small, and a phone may return to one long after its message. */
const MAX_PAGES = 500;
/** Keeps pages out of the phone's history. */
const HEADERS = { "Content-Type": "text/xml; charset=utf-8", Expires: "-1" };
const PATH = /\/page\/([\w-]{22})(?:\/(text|[\w-]{1,20}\.png))?$/;

/** Creates the store. Pages are next to the public URL of the plugin's port; `key` makes their names unguessable. */
export function createPageStore(portUrl: () => string, key: Uint8Array, pictures: PictureStore): PageStore {
  const pages = new Map<string, StoredPage>();
  // Thousands of consecutive deliveries share a page.
  let last: StoredPage | null = null;
  return {
    add({ text: { subject, body, short }, drill, imagePath, profile: { concatenatedText: isOne } }) {
      const content = { subject, body, short, drill, isOne };
      if (last && last.imagePath === imagePath && isSamePage(last.content, content)) return last.url;
      const identity = JSON.stringify([subject, body, short, drill, isOne, imagePath]);
      const token = createHmac("sha256", key).update(identity).digest("base64url").slice(0, 22);
      last = pages.get(token) ?? { url: new URL(`page/${token}`, portUrl()).href, content, imagePath };
      pages.delete(token);
      pages.set(token, last);
      for (const oldest of pages.keys()) {
        if (pages.size <= MAX_PAGES) break;
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
      if (page.imagePath === null || part === "text") return xmlResponse(textPage(page.content));
      if (part !== undefined) return respondWithPicture(page.imagePath, part.slice(0, -".png".length), pictures);
      return respondWithImagePage(page, page.imagePath, pictures, request);
    },
  };
}

/** The image page, or the text page if the phone's model or the picture does not allow it. */
async function respondWithImagePage(
  { content, url }: StoredPage,
  path: string,
  pictures: PictureStore,
  request: PluginRequest,
): Promise<PluginResponse> {
  const model = phoneModelByName(headerOf(request, "x-ciscoipphonemodelname"));
  const display = displayOfPhone(model, headerOf(request, "x-ciscoipphonedisplay"));
  if (!display || !(await pictures.fitted(path, display))) return xmlResponse(textPage(content));
  return xmlResponse(imagePage(content, `${url}/${displayName(display)}.png`, `${url}/text`));
}

async function respondWithPicture(path: string, name: string, pictures: PictureStore): Promise<PluginResponse> {
  const display = parseDisplayName(name);
  const png = display && (await pictures.fitted(path, display));
  return png ? { status: 200, headers: { "Content-Type": "image/png" }, body: png } : { status: 404 };
}

function isSamePage(one: MessagePage, other: MessagePage): boolean {
  const { subject, body, short, drill, isOne } = other;
  const isSameText = one.subject === subject && one.body === body && one.short === short;
  return isSameText && one.drill === drill && one.isOne === isOne;
}

function headerOf(request: PluginRequest, name: string): string {
  const value = request.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? "";
}

function xmlResponse(body: string): PluginResponse {
  return { status: 200, headers: HEADERS, body };
}
