import { displayHeaders } from "./models.ts";
import { type PageContent, pngSize, readPage, readPageXml } from "./page.ts";
import { noteError, notePage, type Phone, type ShownPage } from "./phone.ts";
import type { CampusState } from "./state.ts";

const PAGE_TIMEOUT_MS = 5000;
const MAX_PAGE_BYTES = 64 * 1024;
const MAX_IMAGE_BYTES = 1024 * 1024;

/** Fetches a page (and its image) and shows it; whatever is wrong with it becomes an error of the phone. */
export async function showUrl(campus: CampusState, phone: Phone, url: string): Promise<void> {
  try {
    const fetched = await fetchForPhone(campus, phone, url, MAX_PAGE_BYTES);
    if ("refused" in fetched) return noteError(phone, `page ${url}: ${fetched.refused}`);
    const content = readPage(fetched.body, fetched.contentType, phone.model);
    if ("refused" in content) return noteError(phone, `page ${url}: ${content.refused}`);
    await show(campus, phone, url, content);
  } catch (error) {
    noteError(phone, `page ${url}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Shows a page that was pushed itself instead of its URL; false when the phone refuses it. */
export async function showPushed(campus: CampusState, phone: Phone, source: string): Promise<boolean> {
  const content = readPageXml(source, phone.model);
  if ("refused" in content) {
    noteError(phone, `pushed page: ${content.refused}`);
    return false;
  }
  await show(campus, phone, null, content);
  return true;
}

async function show(campus: CampusState, phone: Phone, url: string | null, content: PageContent): Promise<void> {
  const { imageUrl, ...words } = content;
  const image = imageUrl === null ? null : await fetchImage(campus, phone, imageUrl);
  if (image && "refused" in image) return noteError(phone, `image ${imageUrl}: ${image.refused}`);
  notePage(phone, { at: campus.at(), clearedAt: null, url, ...words, image });
}

type Refusal = { refused: string };

async function fetchImage(
  campus: CampusState,
  phone: Phone,
  url: string,
): Promise<NonNullable<ShownPage["image"]> | Refusal> {
  const fetched = await fetchForPhone(campus, phone, url, MAX_IMAGE_BYTES);
  if ("refused" in fetched) return fetched;
  const size = pngSize(fetched.body);
  if (!size) return { refused: "not a PNG" };
  const { width, height } = phone.model;
  if (size.width > width || size.height > height) {
    return { refused: `${size.width}x${size.height} does not fit ${width}x${height}` };
  }
  return { ...size, bytes: fetched.body.length };
}

async function fetchForPhone(campus: CampusState, phone: Phone, url: string, maxBytes: number) {
  if (!URL.canParse(url) || new URL(url).protocol !== "http:") return { refused: "not an http URL" };
  const headers = displayHeaders(phone.model);
  const errand = { url, localAddress: phone.address, headers, timeoutMs: PAGE_TIMEOUT_MS, maxBytes };
  const fetched = await campus.outgoing.get(errand);
  return fetched.status === 200 ? fetched : { refused: `status ${fetched.status}` };
}
