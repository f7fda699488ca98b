import { readdir, readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { CallerError, notFound } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { PAGE_SECURITY_HEADERS } from "./security-headers.ts";

/** The built console files. */
export interface ConsoleAssets {
  /**
   * Responds to a GET of `path` (with leading slash) with a file, or with the start page for client-side routes.
   * Throws not-found, with a hint if the console is not built.
   */
  respond(path: string, header: (name: string) => string | undefined): Promise<HttpResponse>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wav": "audio/wav",
  ".webmanifest": "application/manifest+json",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
};
const COMPRESSIBLE: ReadonlySet<string> = new Set([".css", ".html", ".js", ".json", ".svg", ".txt", ".webmanifest"]);
const START_PAGE = "/index.html";
/** Files below this path have a content hash in their name. */
const HASHED = "/assets/";

interface AssetFile {
  bytes: Buffer;
  gzipped: Buffer | null;
  type: string;
  etag: string;
}

interface Build {
  /** Identifies the build: the start page is written last and refers to all other files. */
  builtAt: number;
  names: ReadonlySet<string>;
  read: Map<string, Promise<AssetFile>>;
}

/** Folder of the built console files. */
export function consoleBuildFolder(): URL {
  return new URL("../../console/", workerEntry(import.meta.url, "./console-assets"));
}

/**
 * Serves the files below `folder`, by an index of their names, so that no path traversal is possible. Detects a new
 * build.
 */
export function createConsoleAssets(folder: URL): ConsoleAssets {
  let build: Build | null = null;

  async function currentBuild(): Promise<Build> {
    const page = await stat(new URL(`.${START_PAGE}`, folder)).catch(() => null);
    if (!page) throw new CallerError("not-found", sentence("request.the-console-is-not-built-run-npm-run-build"));
    if (build?.builtAt !== page.mtimeMs) {
      build = { builtAt: page.mtimeMs, names: await listAssetNames(folder), read: new Map() };
    }
    return build;
  }

  function openAsset({ read }: Build, name: string): Promise<AssetFile> {
    const missing = (): never => {
      read.delete(name);
      throw notFound();
    };
    const file = read.get(name) ?? loadAsset(folder, name).catch(missing);
    read.set(name, file);
    return file;
  }

  return {
    async respond(path, header) {
      const found = await currentBuild();
      const isPage = !found.names.has(path) && !/\.[^/]*$/.test(path);
      const name = isPage ? startPageFor(path, found.names) : path;
      if (!found.names.has(name)) throw notFound();
      return assetResponse(await openAsset(found, name), name, header);
    },
  };
}

/** The start page of the folder if it has one (such as `/inbox`), otherwise that of the console. */
function startPageFor(path: string, names: ReadonlySet<string>): string {
  const ownStartPage = `${path.replace(/\/$/, "")}${START_PAGE}`;
  return names.has(ownStartPage) ? ownStartPage : START_PAGE;
}

function assetResponse(file: AssetFile, name: string, header: (name: string) => string | undefined): HttpResponse {
  const compressed = file.gzipped && /\bgzip\b/.test(header("accept-encoding") ?? "") ? file.gzipped : null;
  const headers: Record<string, string> = {
    ...PAGE_SECURITY_HEADERS,
    "Cache-Control": name.startsWith(HASHED) ? "public, max-age=31536000, immutable" : "no-cache",
    ETag: file.etag,
    ...(file.gzipped ? { Vary: "Accept-Encoding" } : {}),
  };
  if (header("if-none-match") === file.etag) return { status: 304, headers, body: null };
  return {
    headers: { ...headers, ...(compressed ? { "Content-Encoding": "gzip" } : {}) },
    type: file.type,
    body: compressed ?? file.bytes,
  };
}

async function loadAsset(folder: URL, name: string): Promise<AssetFile> {
  const at = new URL(`.${name}`, folder);
  const extension = extname(name);
  const bytes = await readFile(at);
  const { size, mtimeMs } = await stat(at);
  return {
    bytes,
    gzipped: COMPRESSIBLE.has(extension) ? await promisify(gzip)(bytes) : null,
    type: TYPES[extension] ?? "application/octet-stream",
    // Weak, because it is the same for the compressed form.
    etag: `W/"${size.toString(36)}-${Math.round(mtimeMs).toString(36)}"`,
  };
}

async function listAssetNames(folder: URL, prefix = "/"): Promise<Set<string>> {
  const names = new Set<string>();
  for (const entry of await readdir(new URL(`.${prefix}`, folder), { withFileTypes: true })) {
    const name = `${prefix}${entry.name}`;
    if (entry.isDirectory()) for (const below of await listAssetNames(folder, `${name}/`)) names.add(below);
    else if (entry.isFile()) names.add(name);
  }
  return names;
}
