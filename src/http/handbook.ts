import { readdir, readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import type { Clock } from "../lib/clock.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { type HandbookPage, parseHandbookPage } from "../web-pages/help/handbook-page.ts";
import { renderHandbookPage, renderHandbookSearch, renderMissingHandbookPage } from "../web-pages/help/help-pages.ts";
import { type PreparedResponse, prepareResponse } from "./prepared-response.ts";

/** The administrator handbook, served offline. */
export interface Handbook {
  /**
   * Responds to a GET of `path` (`/help` or below) with a page, search results, an image or a page with status 404.
   * `acceptEncoding`: the header of the request.
   */
  respond(path: string, search: string, acceptEncoding?: string): Promise<HttpResponse>;
}

/** Base path of the handbook. */
const HELP_PATH = "/help";
const MAX_PAGES = 200;
/** The folder is read again after this time at the earliest, however many ask. */
const RELOAD_MS = 2_000;
const MAX_PAGE_BYTES = 524_288;
const MAX_IMAGE_BYTES = 4_194_304;
const PAGE_FILE = /^[a-z0-9-]+\.md$/;
const IMAGE_FILE = /^[a-z0-9-]+\.(?:png|svg|webp)$/;
const IMAGE_TYPES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".webp": "image/webp",
};

/** A parsed file of a page, valid while the file is the same. */
interface ParsedFile {
  version: string;
  page: HandbookPage;
}

/** Folder of the handbook, beside the built product. */
export function handbookFolder(): URL {
  return new URL("../../../docs/admin/", workerEntry(import.meta.url, "./handbook"));
}

/** True for paths of the handbook. */
export function isHandbookPath(path: string): boolean {
  return `${path}/`.startsWith(`${HELP_PATH}/`);
}

/**
 * Serves the Markdown files in `folder` (with a trailing slash) as HTML. Names come from lists of the folder, so that no
 * path traversal is possible. A file is read and parsed again only after it has changed; pages are rendered and compressed
 * once for each state of the folder.
 */
export function createHandbook(folder: URL, clock: Pick<Clock, "monotonicMs">): Handbook {
  const parsed = new Map<string, ParsedFile>();
  let listed: { at: number; pages: Promise<HandbookPage[]> } | null = null;
  let rendered: { version: string; responses: Map<string, Promise<PreparedResponse>> } | null = null;

  async function readPage(file: string): Promise<HandbookPage[]> {
    const at = new URL(file, folder);
    const { size, mtimeMs } = await stat(at);
    if (size > MAX_PAGE_BYTES) return [];
    const version = `${size}-${mtimeMs}`;
    let known = parsed.get(file);
    if (known?.version !== version) {
      known = { version, page: parseHandbookPage(file.replace(/\.md$/, ""), await readFile(at, "utf8")) };
      parsed.set(file, known);
    }
    return [known.page];
  }

  function currentPages(): Promise<HandbookPage[]> {
    const now = clock.monotonicMs();
    if (listed === null || now - listed.at >= RELOAD_MS) listed = { at: now, pages: readPages() };
    return listed.pages;
  }

  async function readPages(): Promise<HandbookPage[]> {
    const files = (await fileNames(folder, PAGE_FILE)).slice(0, MAX_PAGES);
    for (const file of parsed.keys()) if (!files.includes(file)) parsed.delete(file);
    const pages = await Promise.all(files.map(readPage));
    return pages.flat().sort((one, other) => one.order - other.order || (one.name < other.name ? -1 : 1));
  }

  /** A page with its table of contents, in all encodings. */
  function prepared(pages: readonly HandbookPage[], page: HandbookPage): Promise<PreparedResponse> {
    const version = JSON.stringify([...parsed].map(([file, known]) => [file, known.version]));
    if (rendered?.version !== version) rendered = { version, responses: new Map() };
    const { responses } = rendered;
    const known = responses.get(page.name);
    if (known) return known;
    const { body, type, headers } = renderHandbookPage(pages, page);
    const response = prepareResponse(String(body), type ?? "text/html", headers);
    responses.set(page.name, response);
    return response;
  }

  return {
    async respond(path, search, acceptEncoding) {
      const pages = await currentPages();
      const name = path.slice(HELP_PATH.length).replace(/^\//, "") || "index";
      if (name === "search") return renderHandbookSearch(pages, new URLSearchParams(search).get("q") ?? "");
      const page = pages.find((each) => each.name === name);
      if (page) return (await prepared(pages, page))(acceptEncoding);
      const missing = renderMissingHandbookPage(pages);
      const image = name.startsWith("images/") ? await readImage(folder, name.slice("images/".length)) : null;
      return image === null ? missing : { headers: missing.headers ?? {}, ...image };
    },
  };
}

async function readImage(folder: URL, name: string): Promise<HttpResponse | null> {
  const images = new URL("images/", folder);
  if (!(await fileNames(images, IMAGE_FILE)).includes(name)) return null;
  const at = new URL(name, images);
  if ((await stat(at)).size > MAX_IMAGE_BYTES) return null;
  return { type: IMAGE_TYPES[extname(name)] ?? "application/octet-stream", body: await readFile(at) };
}

/** Names of regular files; none if the folder is missing. */
async function fileNames(folder: URL, wanted: RegExp): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile() && wanted.test(entry.name))
    .map(({ name }) => name)
    .sort();
}
