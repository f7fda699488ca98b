import type { IncomingMessage } from "node:http";
import { LIMITS } from "../access/scim/discovery.ts";
import { ScimRefusal } from "../access/scim/refusal.ts";
import { SCIM_PATH, type Scim, type ScimCaller } from "../access/scim/scim.ts";
import { CallerError } from "../base/errors.ts";
import { parseJsonText } from "../schema/json-text.ts";
import type { Answer } from "./action.ts";
import { arriving } from "./arriving.ts";
import { tokenOf } from "./bearer.ts";
import { isBug, unauthorized } from "./error-answer.ts";
import { addressOf, type Incoming } from "./incoming.ts";
import type { ApiNeeds } from "./needs.ts";
import type { RateLimit } from "./rate-limit.ts";
import { refusalOf } from "./scim-answers.ts";
import { serveBulk } from "./scim-bulk.ts";
import { SCIM_TYPE, type ScimRequest, serveScim } from "./scim-requests.ts";

const BODY_TYPES: ReadonlySet<string> = new Set([SCIM_TYPE, "application/json"]);

/** True for what lies below `/scim/v2`. */
export function isScimPath(path: string): boolean {
  return path === SCIM_PATH || path.startsWith(`${SCIM_PATH}/`);
}

/** Answers a request below `/scim/v2`, its faults in the form of SCIM. Mistakes of ours are thrown on. @source RFC 7644 */
export function createScimRoute(
  needs: Pick<ApiNeeds, "scim" | "clock">,
  limited: RateLimit,
): (raw: IncomingMessage, path: string, search: string) => Promise<Answer> {
  const { scim, clock } = needs;
  return async (raw, fullPath, search) => {
    const path = fullPath.slice(SCIM_PATH.length).replace(/\/$/, "");
    const told = { at: clock.now(), method: raw.method ?? "GET", path };
    let caller: ScimCaller | null = null;
    try {
      const answer = await limited(limitedBy(raw), async () => {
        caller = callerOf(scim, raw);
        return serve(needs, caller, raw, { path, query: new URLSearchParams(search) });
      });
      scim.log.add({ ...told, directory: nameOf(caller), status: answer.status ?? 200, detail: null });
      return answer;
    } catch (error) {
      if (isBug(error)) throw error;
      const refusal = refusalOf(error);
      scim.log.add({
        ...told,
        directory: nameOf(caller),
        status: refusal.status ?? 500,
        detail: (error as Error).message,
      });
      return refusal;
    }
  };
}

function nameOf(caller: ScimCaller | null): string | null {
  return caller?.name ?? null;
}

async function serve(
  { scim, clock }: Pick<ApiNeeds, "scim" | "clock">,
  caller: ScimCaller,
  raw: IncomingMessage,
  { path, query }: Pick<ScimRequest, "path" | "query">,
): Promise<Answer> {
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
  return isBulk ? serveBulk(scim, request) : serveScim(scim, request);
}

/** own choice: all of it takes a token, also what describes the service. */
function callerOf(scim: Scim, raw: IncomingMessage): ScimCaller {
  const token = tokenOf(raw.headers.authorization ?? null, {});
  const caller = token === null ? null : scim.authenticate(token, addressOf(raw));
  if (!caller) throw unauthorized();
  return caller;
}

async function bodyOf(raw: IncomingMessage, clock: ApiNeeds["clock"]): Promise<unknown> {
  const type = (raw.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (!BODY_TYPES.has(type)) throw new CallerError("unsupported-media-type", `Send ${SCIM_TYPE}.`);
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of arriving(raw, clock)) {
    size += piece.length;
    if (size > LIMITS.bytes) throw new CallerError("too-large", `A body may have at most ${LIMITS.bytes} bytes.`);
    pieces.push(piece);
  }
  try {
    return parseJsonText(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces)));
  } catch (error) {
    throw new ScimRefusal("invalidSyntax", error instanceof CallerError ? error.message : "The body is not UTF-8.");
  }
}

/** What requests are counted by. */
function limitedBy(raw: IncomingMessage): Incoming {
  return {
    address: addressOf(raw),
    query: {},
    header: (name: string) => {
      const value = raw.headers[name];
      return typeof value === "string" ? value : null;
    },
  } as Incoming;
}
