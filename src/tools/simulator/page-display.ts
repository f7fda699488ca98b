import { type ParsedPage, parsePage, parsePageXml, pngSize } from "./page-parser.ts";
import { recordError, recordShownPage, type ShownPage, type SimulatorPhone } from "./phone.ts";
import { displayRequestHeaders } from "./phone-models.ts";
import type { SimulatorState } from "./simulator-state.ts";

const PAGE_TIMEOUT_MS = 5000;
const MAX_PAGE_BYTES = 64 * 1024;
const MAX_IMAGE_BYTES = 1024 * 1024;

/** Downloads a page (and its image) and displays it; problems are added to the phone's error list. */
export async function fetchAndShowPage(simulator: SimulatorState, phone: SimulatorPhone, url: string): Promise<void> {
  try {
    const fetched = await fetchForPhone(simulator, phone, url, MAX_PAGE_BYTES);
    if ("refused" in fetched) return recordError(phone, `page ${url}: ${fetched.refused}`);
    const content = parsePage(fetched.body, fetched.contentType, phone.model);
    if ("refused" in content) return recordError(phone, `page ${url}: ${content.refused}`);
    await showPage(simulator, phone, url, content);
  } catch (error) {
    recordError(phone, `page ${url}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Displays a page whose XML was pushed directly; false if the phone rejects it. */
export async function showPushedPage(
  simulator: SimulatorState,
  phone: SimulatorPhone,
  source: string,
): Promise<boolean> {
  const content = parsePageXml(source, phone.model);
  if ("refused" in content) {
    recordError(phone, `pushed page: ${content.refused}`);
    return false;
  }
  await showPage(simulator, phone, null, content);
  return true;
}

async function showPage(
  simulator: SimulatorState,
  phone: SimulatorPhone,
  url: string | null,
  content: ParsedPage,
): Promise<void> {
  const { imageUrl, ...words } = content;
  const image = imageUrl === null ? null : await fetchImage(simulator, phone, imageUrl);
  if (image && "refused" in image) return recordError(phone, `image ${imageUrl}: ${image.refused}`);
  recordShownPage(phone, { at: simulator.at(), clearedAt: null, url, ...words, image });
}

type PageRefusal = { refused: string };

async function fetchImage(
  simulator: SimulatorState,
  phone: SimulatorPhone,
  url: string,
): Promise<NonNullable<ShownPage["image"]> | PageRefusal> {
  const fetched = await fetchForPhone(simulator, phone, url, MAX_IMAGE_BYTES);
  if ("refused" in fetched) return fetched;
  const size = pngSize(fetched.body);
  if (!size) return { refused: "not a PNG" };
  const { width, height } = phone.model;
  if (size.width > width || size.height > height) {
    return { refused: `${size.width}x${size.height} does not fit ${width}x${height}` };
  }
  return { ...size, bytes: fetched.body.length };
}

async function fetchForPhone(simulator: SimulatorState, phone: SimulatorPhone, url: string, maxBytes: number) {
  if (!URL.canParse(url) || new URL(url).protocol !== "http:") return { refused: "not an http URL" };
  const headers = displayRequestHeaders(phone.model);
  const errand = { url, localAddress: phone.address, headers, timeoutMs: PAGE_TIMEOUT_MS, maxBytes };
  const fetched = await simulator.outgoing.send(errand);
  return fetched.status === 200 ? fetched : { refused: `status ${fetched.status}` };
}
