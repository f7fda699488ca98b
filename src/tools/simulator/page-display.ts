import { type ParsedPage, parsePage, parsePageXml, pngSize } from "./page-parser.ts";
import { recordError, recordShownPage, type ShownPage, type SimulatorPhone } from "./phone.ts";
import { displayRequestHeaders } from "./phone-models.ts";
import type { SimulatorState } from "./simulator-state.ts";

const PAGE_TIMEOUT_MS = 5000;
const MAX_PAGE_BYTES = 64 * 1024;
const MAX_IMAGE_BYTES = 1024 * 1024;

/** Fetches a page (and its image) and shows it; whatever is wrong with it becomes an error of the phone. */
export async function fetchAndShowPage(campus: SimulatorState, phone: SimulatorPhone, url: string): Promise<void> {
  try {
    const fetched = await fetchForPhone(campus, phone, url, MAX_PAGE_BYTES);
    if ("refused" in fetched) return recordError(phone, `page ${url}: ${fetched.refused}`);
    const content = parsePage(fetched.body, fetched.contentType, phone.model);
    if ("refused" in content) return recordError(phone, `page ${url}: ${content.refused}`);
    await showPage(campus, phone, url, content);
  } catch (error) {
    recordError(phone, `page ${url}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Shows a page that was pushed itself instead of its URL; false when the phone refuses it. */
export async function showPushedPage(campus: SimulatorState, phone: SimulatorPhone, source: string): Promise<boolean> {
  const content = parsePageXml(source, phone.model);
  if ("refused" in content) {
    recordError(phone, `pushed page: ${content.refused}`);
    return false;
  }
  await showPage(campus, phone, null, content);
  return true;
}

async function showPage(
  campus: SimulatorState,
  phone: SimulatorPhone,
  url: string | null,
  content: ParsedPage,
): Promise<void> {
  const { imageUrl, ...words } = content;
  const image = imageUrl === null ? null : await fetchImage(campus, phone, imageUrl);
  if (image && "refused" in image) return recordError(phone, `image ${imageUrl}: ${image.refused}`);
  recordShownPage(phone, { at: campus.at(), clearedAt: null, url, ...words, image });
}

type PageRefusal = { refused: string };

async function fetchImage(
  campus: SimulatorState,
  phone: SimulatorPhone,
  url: string,
): Promise<NonNullable<ShownPage["image"]> | PageRefusal> {
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

async function fetchForPhone(campus: SimulatorState, phone: SimulatorPhone, url: string, maxBytes: number) {
  if (!URL.canParse(url) || new URL(url).protocol !== "http:") return { refused: "not an http URL" };
  const headers = displayRequestHeaders(phone.model);
  const errand = { url, localAddress: phone.address, headers, timeoutMs: PAGE_TIMEOUT_MS, maxBytes };
  const fetched = await campus.outgoing.send(errand);
  return fetched.status === 200 ? fetched : { refused: `status ${fetched.status}` };
}
