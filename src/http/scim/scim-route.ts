import type { IncomingMessage } from "node:http";
import { CallerError } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { parseUntrustedJson } from "../../schema/untrusted-json.ts";
import { SCIM_LIMITS } from "../../scim/discovery.ts";
import { ScimRequestError } from "../../scim/scim-error.ts";
import { SCIM_BASE_PATH, type ScimCaller, type ScimServer } from "../../scim/server.ts";
import { accessTokenOf } from "../bearer-token.ts";
import { readUpload } from "../body/upload-stream.ts";
import type { ApiDeps } from "../dependencies.ts";
import { isBug, unauthorized } from "../error-response.ts";
import { clientAddress } from "../forwarded-client.ts";
import type { RateLimit } from "../rate-limit.ts";
import { serveScimBulk } from "./scim-bulk.ts";
import { scimErrorResponse } from "./scim-error-response.ts";
import { SCIM_TYPE, type ScimRequest, serveScim } from "./scim-requests.ts";

const BODY_TYPES: ReadonlySet<string> = new Set([SCIM_TYPE, "application/json"]);

/** True for paths below `/scim/v2`. */
export function isScimPath(path: string): boolean {
  return path === SCIM_BASE_PATH || path.startsWith(`${SCIM_BASE_PATH}/`);
}

/** Serves requests below `/scim/v2` with SCIM errors. Bugs are rethrown. @source RFC 7644 */
export function createScimRoute(
  deps: Pick<ApiDeps, "scim" | "clock">,
  rateLimit: RateLimit,
): (raw: IncomingMessage, path: string, search: string) => Promise<HttpResponse> {
  const { scim, clock } = deps;
  return async (raw, fullPath, search) => {
    const path = fullPath.slice(SCIM_BASE_PATH.length).replace(/\/$/, "");
    const logEntry = { at: clock.now(), method: raw.method ?? "GET", path };
    let caller: ScimCaller | null = null;
    try {
      const response = await rateLimit(raw, async () => {
        caller = callerOf(scim, raw);
        return serve(deps, caller, raw, { path, query: new URLSearchParams(search) });
      });
      scim.log.add({ ...logEntry, directory: nameOf(caller), status: response.status ?? 200, detail: null });
      return response;
    } catch (error) {
      if (isBug(error)) throw error;
      const errorResponse = scimErrorResponse(error);
      scim.log.add({
        ...logEntry,
        directory: nameOf(caller),
        status: errorResponse.status ?? 500,
        detail: (error as Error).message,
      });
      return errorResponse;
    }
  };
}

function nameOf(caller: ScimCaller | null): string | null {
  return caller?.name ?? null;
}

async function serve(
  { scim, clock }: Pick<ApiDeps, "scim" | "clock">,
  caller: ScimCaller,
  raw: IncomingMessage,
  { path, query }: Pick<ScimRequest, "path" | "query">,
): Promise<HttpResponse> {
  const method = raw.method === "HEAD" ? "GET" : (raw.method ?? "GET").toUpperCase();
  const hasBody = method === "POST" || method === "PUT" || method === "PATCH";
  const request: ScimRequest = {
    method,
    path,
    query,
    body: hasBody ? await bodyOf(raw, clock) : null,
    ifMatch: raw.headers["if-match"] ?? null,
    ifNoneMatch: raw.headers["if-none-match"] ?? null,
    by: caller.by,
  };
  const isBulk = path.toLowerCase() === "/bulk" && method === "POST";
  return isBulk ? serveScimBulk(scim, request) : serveScim(scim, request);
}

/** All SCIM endpoints require a token, including discovery. */
function callerOf(scim: ScimServer, raw: IncomingMessage): ScimCaller {
  const token = accessTokenOf(raw.headers.authorization ?? null, {});
  const caller = token === null ? null : scim.authenticate(token, clientAddress(raw));
  if (!caller) throw unauthorized();
  return caller;
}

async function bodyOf(raw: IncomingMessage, clock: ApiDeps["clock"]): Promise<unknown> {
  const type = (raw.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (!BODY_TYPES.has(type)) throw new CallerError("unsupported-media-type", `The content type must be ${SCIM_TYPE}.`);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of readUpload(raw, clock)) {
    size += chunk.length;
    if (size > SCIM_LIMITS.bytes)
      throw new CallerError("too-large", `The body must have at most ${SCIM_LIMITS.bytes} bytes.`);
    chunks.push(chunk);
  }
  try {
    return parseUntrustedJson(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)));
  } catch (error) {
    throw new ScimRequestError(
      "invalidSyntax",
      error instanceof CallerError ? error.message : "The body must be UTF-8.",
    );
  }
}
