import qs from "qs";
import type { Principal } from "../auth/principal.ts";
import type { ForwardedRequest } from "../cloud-link/site-link.ts";
import { OwnedByCloudError } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import type { RawBody } from "./body/body.ts";
import type { ApiDeps } from "./dependencies.ts";
import type { IncomingRequest } from "./incoming-request.ts";

/** An authorized request that may have to be executed by the cloud. */
export interface ProxiedRequest {
  base: Pick<IncomingRequest, "method" | "raw" | "overridden" | "header">;
  principal: Pick<Principal, "tokenId" | "accessToken">;
  body: RawBody;
}

const FORM = "application/x-www-form-urlencoded";
/** Request headers that are forwarded. */
const FORWARDED_REQUEST_HEADERS = ["accept-language", "if-match", "idempotency-key", "x-service-domain"];
/** Response headers that are passed back. */
const FORWARDED_RESPONSE_HEADERS = ["content-type", "etag", "retry-after", "idempotency-replayed"];
/** Not forwarded: the link shows the token of the user, or a proof, in another way. */
const TOKEN_PARAMETER = "access_token";

/**
 * Executes a request; if it would change rows owned by the cloud, forwards it to the cloud and returns the response.
 * Without a link, and for uploads, the original error is thrown. Throws UpstreamError: `upstream` with the message of
 * the cloud if it refuses, `outcome-unknown` if it did not respond.
 */
export async function withCloudProxy(
  run: () => Promise<HttpResponse>,
  proxied: ProxiedRequest,
  forward: ApiDeps["proxyToCloud"],
): Promise<HttpResponse> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof OwnedByCloudError) || proxied.base.overridden || proxied.body.uploads.length > 0)
      throw error;
    const response = await forward(requestOf(proxied));
    if (!response) throw error;
    const { "content-type": type = "application/json", ...headers } = Object.fromEntries(
      FORWARDED_RESPONSE_HEADERS.flatMap((name) =>
        response.headers[name] === undefined ? [] : [[name, response.headers[name]]],
      ),
    );
    if (response.body.length === 0) return { status: response.status, headers, body: null };
    return { status: response.status, type: type.replace(/;.*$/, ""), headers, body: response.body };
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
    caller: { tokenId: principal.tokenId, accessToken: principal.accessToken },
    method: base.method.toUpperCase() as ForwardedRequest["method"],
    target: `${url.pathname}${url.search}`,
    headers: { ...Object.fromEntries(given), ...(type === null ? {} : { "content-type": type }) },
    body: Buffer.from(text),
  };
}

/** Forms stay forms, because the decoder converts strings of forms but not of JSON. */
function serializeBody({ kind, value }: RawBody): { type: string | null; text: string } {
  if (kind === "none") return { type: null, text: "" };
  if (kind === "json") return { type: "application/json", text: JSON.stringify(value) };
  const { [TOKEN_PARAMETER]: _token, ...members } = value as Record<string, unknown>;
  return { type: FORM, text: qs.stringify(members) };
}
