import qs from "qs";
import type { Principal } from "../access/principal.ts";
import { OwnedElsewhere } from "../base/errors.ts";
import type { HandedOn } from "../replication/link/site-link.ts";
import type { Answer } from "./action.ts";
import type { RawBody } from "./body.ts";
import type { Incoming } from "./incoming.ts";
import type { ApiNeeds } from "./needs.ts";

/** A request that was judged here and may be the cloud's. */
export interface Handed {
  base: Pick<Incoming, "method" | "raw" | "overridden" | "header">;
  principal: Pick<Principal, "userId" | "scopes">;
  body: RawBody;
}

const FORM = "application/x-www-form-urlencoded";
/** What of a request is not about its own connection. */
const HEADERS = ["accept-language", "if-match", "idempotency-key", "x-service-domain"];
/** What of the answer is. */
const SHOWN = ["content-type", "etag", "retry-after", "idempotency-replayed"];
/** Says who asks, which the link says in another way. */
const TOKEN = "access_token";

/**
 * Carries a request out; where that meets rows that only the cloud changes, the cloud does it and gives the answer. Without a link,
 * and for uploads, it stays refused. Throws UpstreamError: `upstream` in the cloud's words where it refuses, `outcome-unknown`
 * when it did not answer.
 */
export async function orHandedOn(
  run: () => Promise<Answer>,
  handed: Handed,
  handOn: ApiNeeds["handOn"],
): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof OwnedElsewhere) || handed.base.overridden || handed.body.uploads.length > 0) throw error;
    const answer = await handOn(requestOf(handed));
    if (!answer) throw error;
    const { "content-type": type = "application/json", ...headers } = Object.fromEntries(
      SHOWN.flatMap((name) => (answer.headers[name] === undefined ? [] : [[name, answer.headers[name]]])),
    );
    return { status: answer.status, type: type.replace(/;.*$/, ""), headers, body: answer.body };
  }
}

function requestOf({ base, principal, body }: Handed): HandedOn {
  const url = new URL(base.raw.url ?? "/", "http://localhost");
  url.searchParams.delete(TOKEN);
  const given = HEADERS.flatMap((name) => {
    const value = base.header(name);
    return value === null ? [] : [[name, value] as const];
  });
  const { type, text } = written(body);
  return {
    userId: principal.userId,
    scopes: principal.scopes,
    method: base.method.toUpperCase() as HandedOn["method"],
    target: `${url.pathname}${url.search}`,
    headers: { ...Object.fromEntries(given), ...(type === null ? {} : { "content-type": type }) },
    body: Buffer.from(text),
  };
}

/** Forms stay forms: what is a number in them is a text in JSON. */
function written({ kind, value }: RawBody): { type: string | null; text: string } {
  if (kind === "none") return { type: null, text: "" };
  if (kind === "json") return { type: "application/json", text: JSON.stringify(value) };
  const { [TOKEN]: _token, ...members } = value as Record<string, unknown>;
  return { type: FORM, text: qs.stringify(members) };
}
