import qs from "qs";
import type { Principal } from "../auth/principal.ts";
import type { ForwardedRequest } from "../cloud-link/site-link.ts";
import { OwnedByCloudError } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import type { RawBody } from "./body/body.ts";
import type { ApiDeps } from "./dependencies.ts";
import type { IncomingRequest } from "./incoming-request.ts";

/** A request that was judged here and may be the cloud's. */
export interface ProxiedRequest {
  base: Pick<IncomingRequest, "method" | "raw" | "overridden" | "header">;
  principal: Pick<Principal, "userId" | "scopes">;
  body: RawBody;
}

const FORM = "application/x-www-form-urlencoded";
/** What of a request is not about its own connection. */
const FORWARDED_REQUEST_HEADERS = ["accept-language", "if-match", "idempotency-key", "x-service-domain"];
/** What of the answer is. */
const FORWARDED_RESPONSE_HEADERS = ["content-type", "etag", "retry-after", "idempotency-replayed"];
/** Says who asks, which the link says in another way. */
const TOKEN_PARAMETER = "access_token";

/**
 * Carries a request out; where that meets rows that only the cloud changes, the cloud does it and gives the answer. Without a link,
 * and for uploads, it stays refused. Throws UpstreamError: `upstream` in the cloud's words where it refuses, `outcome-unknown`
 * when it did not answer.
 */
export async function withCloudProxy(
  run: () => Promise<HttpResponse>,
  handed: ProxiedRequest,
  handOn: ApiDeps["proxyToCloud"],
): Promise<HttpResponse> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof OwnedByCloudError) || handed.base.overridden || handed.body.uploads.length > 0) throw error;
    const answer = await handOn(requestOf(handed));
    if (!answer) throw error;
    const { "content-type": type = "application/json", ...headers } = Object.fromEntries(
      FORWARDED_RESPONSE_HEADERS.flatMap((name) =>
        answer.headers[name] === undefined ? [] : [[name, answer.headers[name]]],
      ),
    );
    return { status: answer.status, type: type.replace(/;.*$/, ""), headers, body: answer.body };
  }
}

function requestOf({ base, principal, body }: ProxiedRequest): ForwardedRequest {
  const url = new URL(base.raw.url ?? "/", "http://localhost");
  url.searchParams.delete(TOKEN_PARAMETER);
  const given = FORWARDED_REQUEST_HEADERS.flatMap((name) => {
    const value = base.header(name);
    return value === null ? [] : [[name, value] as const];
  });
  const { type, text } = serializeBody(body);
  return {
    userId: principal.userId,
    scopes: principal.scopes,
    method: base.method.toUpperCase() as ForwardedRequest["method"],
    target: `${url.pathname}${url.search}`,
    headers: { ...Object.fromEntries(given), ...(type === null ? {} : { "content-type": type }) },
    body: Buffer.from(text),
  };
}

/** Forms stay forms: what is a number in them is a text in JSON. */
function serializeBody({ kind, value }: RawBody): { type: string | null; text: string } {
  if (kind === "none") return { type: null, text: "" };
  if (kind === "json") return { type: "application/json", text: JSON.stringify(value) };
  const { [TOKEN_PARAMETER]: _token, ...members } = value as Record<string, unknown>;
  return { type: FORM, text: qs.stringify(members) };
}
