import type { IssuedTokens } from "../../auth/oauth.ts";
import type { ClientCredentials } from "../../auth/oauth-clients.ts";
import { type OAuthErrorCode, OAuthRequestError } from "../../auth/oauth-error.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { integer, option, text } from "../../schema/field.ts";
import { type Action, jsonResponse, type PublicRequest } from "../action.ts";
import { errorResponseOf } from "../error-response.ts";
import { textParameter } from "../query/query.ts";

const fieldsOf = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, text(`${name} of OAuth 2.`, { max: 4_000 })]));

const client = fieldsOf("client_id", "client_secret");
const grant = fieldsOf("grant_type", "audience", "scope", "code", "redirect_uri", "code_verifier", "refresh_token");
const revocation = fieldsOf("token", "token_type_hint");

const TOKENS = {
  access_token: text("Access token.", { required: true }),
  token_type: option("Token type.", ["Bearer"], { required: true }),
  scope: text("Granted scopes; empty for all permissions of the user.", { required: true }),
  expires: integer("Lifetime of the access token.", { required: true, unit: "s" }),
  expires_in: integer("Same as `expires`.", { required: true, unit: "s" }),
  refresh_token: text("Refresh token, if offline_access was granted.", { required: true }),
};

const REFUSED = {
  kind: "members",
  fields: {
    error: text("OAuth 2 error code.", { required: true }),
    error_description: text("Description of the error.", { required: true }),
  },
} as const;

/**
 * Tokens for applications. Parameters are taken from a body of any kind and from the query.
 * @source docs/decisions/0003-authentication.md; RFC 6749 §5, RFC 7009 §2
 */
export const oauthActions: readonly Action[] = [
  {
    method: "post",
    at: "token",
    outsideVersion: true,
    doc: "Exchanges client credentials, a code or a refresh token for tokens (OAuth 2).",
    response: { kind: "members", fields: TOKENS, sometimes: ["refresh_token"] },
    errorResponse: REFUSED,
    permission: "open",
    accepts: { ...client, ...grant },
    async handle(request) {
      const given = {
        ...{ grantType: oauthParameter(request, "grant_type"), audience: oauthParameter(request, "audience") },
        ...{ scope: oauthParameter(request, "scope"), code: oauthParameter(request, "code") },
        ...{
          redirectUri: oauthParameter(request, "redirect_uri"),
          codeVerifier: oauthParameter(request, "code_verifier"),
        },
        refreshToken: oauthParameter(request, "refresh_token"),
      };
      return tokenResponse(await request.deps.oauth.exchange(clientOf(request), given, request.address));
    },
    respondToError: oauthErrorResponse,
  },
  {
    method: "post",
    at: "revoke",
    outsideVersion: true,
    doc: "Revokes a token of an application (RFC 7009); a refresh token together with all tokens of the same consent.",
    response: { kind: "members", fields: {} },
    errorResponse: REFUSED,
    permission: "open",
    accepts: { ...client, ...revocation },
    async handle(request) {
      const token = oauthParameter(request, "token");
      if (token === null) throw new OAuthRequestError("invalid_request", "The parameter token is required.");
      await request.deps.oauth.revoke(clientOf(request), token, request.address);
      return jsonResponse({});
    },
    respondToError: oauthErrorResponse,
  },
];

/** Both spellings of the lifetime, s. The scope of a token with all the rights of its user is empty. */
function tokenResponse({ accessToken, refreshToken, scopes, expiresInS }: IssuedTokens): HttpResponse {
  const tokens = { access_token: accessToken, token_type: "Bearer", scope: scopes.join(" ") };
  const response = jsonResponse({
    ...tokens,
    ...{ expires: expiresInS, expires_in: expiresInS },
    ...(refreshToken === null ? {} : { refresh_token: refreshToken }),
  });
  return { ...response, headers: { Pragma: "no-cache" } };
}

/**
 * A parameter from body or query; null without one. Throws `invalid_request` if it is not a string or is given in
 * both.
 */
function oauthParameter({ body, query }: PublicRequest, name: string): string | null {
  const inQuery = textParameter(query, name) || null;
  const inBody = body[name] ?? null;
  if (inBody !== null && typeof inBody !== "string") throw invalidParameter(name);
  if (inBody && inQuery !== null) throw invalidParameter(name);
  return inBody || inQuery;
}

function invalidParameter(name: string): OAuthRequestError {
  return new OAuthRequestError("invalid_request", `The parameter ${name} must be given exactly once, as a string.`);
}

/** Client credentials by HTTP Basic or by parameters, not both. Throws `invalid_client` or `invalid_request`. */
function clientOf(request: PublicRequest): ClientCredentials {
  const header = request.header("authorization");
  const [id, secret] = [oauthParameter(request, "client_id"), oauthParameter(request, "client_secret")];
  if (header === null) {
    if (id === null) throw new OAuthRequestError("invalid_client", "The parameter client_id is required.");
    return { clientId: id, clientSecret: secret };
  }
  const basic = basicCredentials(header);
  if (!basic) throw new OAuthRequestError("invalid_client", "Use HTTP Basic authentication or the client parameters.");
  if (secret !== null || (id !== null && id !== basic.clientId)) throw invalidParameter("client_secret");
  return basic;
}

/** Both parts are form-encoded before they are joined. @source RFC 6749 §2.3.1 */
function basicCredentials(header: string): ClientCredentials | null {
  const encoded = /^basic +([\w+/]+=*) *$/i.exec(header)?.[1];
  const plain = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const parts = /^([^:]*):(.*)$/s.exec(plain);
  if (!parts) return null;
  try {
    const [clientId = "", clientSecret = ""] = parts
      .slice(1)
      .map((part) => decodeURIComponent(part.replace(/\+/g, " ")));
    return { clientId, clientSecret: clientSecret === "" ? null : clientSecret };
  } catch {
    return null;
  }
}

/** The standard error with the OAuth 2 members. */
function oauthErrorResponse(error: unknown, request: Omit<PublicRequest, "body">): HttpResponse {
  const { status, headers, body } = errorResponseOf(error, request.requestId);
  const response = jsonResponse(
    { ...body, error: oauthErrorCode(error, status), error_description: body.message },
    status,
  );
  const challenge = status === 401 ? { "WWW-Authenticate": 'Basic realm="carillon"' } : {};
  return { ...response, headers: { ...headers, ...challenge } };
}

function oauthErrorCode(error: unknown, status: number): OAuthErrorCode | "temporarily_unavailable" {
  if (error instanceof OAuthRequestError) return error.error;
  return status === 429 || status >= 500 ? "temporarily_unavailable" : "invalid_request";
}
