import { newId } from "../lib/ids.ts";
import userTokens from "../resources/people/user-tokens.ts";
import type { ActorContext, StoreReader, Transaction } from "../store/store.ts";
import { type Application, findApplication } from "./oauth-clients.ts";
import { type OAuthErrorCode, OAuthRequestError } from "./oauth-error.ts";
import { formatScopes, parseScopes, resolveGrantedScopes } from "./oauth-scopes.ts";
import { generateToken } from "./tokens.ts";

/** Lifetime of an authorization code. RFC 6749 §4.1.2 recommends at most ten minutes. */
const AUTHORIZATION_CODE_MS = 60_000;

/** The parameters of the authorize page by their OAuth 2 names; null or absent when not sent. */
export type AuthorizationParameters = Readonly<Record<string, string | null | undefined>>;

/** A validated authorization request. */
export interface AuthorizationRequest {
  application: Application;
  redirectUri: string;
  /** False when `redirect_uri` was omitted because only one is registered. */
  isRedirectExplicit: boolean;
  /** Empty: all rights of the user. */
  scopes: readonly string[];
  state: string | null;
  /** S256, base64url; null without PKCE. */
  codeChallenge: string | null;
}

/**
 * Validates an authorization request. Throws OAuthRequestError: without a location when the application or the redirect
 * URI is not valid, else with the redirect that reports the error. @source RFC 6749 §4.1.1, RFC 7636 §4.3
 */
export function parseAuthorizationRequest(
  reader: StoreReader,
  parameters: AuthorizationParameters,
): AuthorizationRequest {
  const application = findApplication(reader, parameters.client_id ?? "");
  if (!application) throw new OAuthRequestError("invalid_client", "client_id: application not found.");
  const redirectUri = resolveRedirectUri(application, parameters.redirect_uri ?? null);
  const state = parameters.state ?? null;
  const redirectError = (error: OAuthErrorCode, message: string): OAuthRequestError =>
    new OAuthRequestError(error, message, buildErrorRedirect({ redirectUri, state }, error, message));
  if (parameters.response_type !== "code")
    throw redirectError("unsupported_response_type", "response_type must be code.");
  return {
    application,
    redirectUri,
    isRedirectExplicit: parameters.redirect_uri != null,
    scopes: resolveScopes(application, parameters.scope ?? null, redirectError),
    state,
    codeChallenge: readCodeChallenge(application, parameters, redirectError),
  };
}

/** The redirect that reports an error to the application. */
export function buildErrorRedirect(
  { redirectUri, state }: Pick<AuthorizationRequest, "redirectUri" | "state">,
  error: OAuthErrorCode,
  message: string,
): string {
  return appendParameters(redirectUri, { error, error_description: message, state });
}

/** Stores an authorization code and returns the redirect that delivers it. */
export function issueAuthorizationCode(
  tx: Transaction,
  { application, redirectUri, isRedirectExplicit, scopes, state, codeChallenge }: AuthorizationRequest,
  userId: string,
  by: ActorContext,
  now: number,
): string {
  const { token: code, tokenHash } = generateToken();
  const id = newId();
  tx.create(userTokens, { userId, name: application.name }, by, {
    ...{ id, tokenHash, codeChallenge, type: "code", kind: "oauth", expires: now + AUTHORIZATION_CODE_MS },
    ...{ originId: id, originCreatedAt: now, applicationId: application.id, client: application.id },
    scope: formatScopes(scopes),
    redirectUri: isRedirectExplicit ? redirectUri : null,
  });
  return appendParameters(redirectUri, { code, state });
}

function resolveRedirectUri({ redirectUris }: Application, given: string | null): string {
  const only = redirectUris.length === 1 ? redirectUris[0] : undefined;
  const uri = given === null ? only : redirectUris.find((each) => each === given);
  if (uri === undefined)
    throw new OAuthRequestError(
      "invalid_request",
      "redirect_uri must be one of the registered redirect URIs of the application.",
    );
  return uri;
}

type ErrorRedirect = (error: OAuthErrorCode, message: string) => OAuthRequestError;

function resolveScopes(application: Application, scope: string | null, redirectError: ErrorRedirect): string[] {
  try {
    return resolveGrantedScopes(parseScopes(scope), application);
  } catch (error) {
    throw error instanceof OAuthRequestError ? redirectError(error.error, error.message) : error;
  }
}

function readCodeChallenge(
  { type }: Application,
  parameters: AuthorizationParameters,
  redirectError: ErrorRedirect,
): string | null {
  const { code_challenge: challenge = null, code_challenge_method: method = null } = parameters;
  if (challenge === null && method === null && type === "confidential") return null;
  if (challenge === null) throw redirectError("invalid_request", "code_challenge is required.");
  if (method !== "S256") throw redirectError("invalid_request", "code_challenge_method must be S256.");
  if (!/^[\w-]{43}$/.test(challenge))
    throw redirectError("invalid_request", "code_challenge must be a SHA-256 hash in base64url.");
  return challenge;
}

function appendParameters(uri: string, parameters: Readonly<Record<string, string | null>>): string {
  const target = new URL(uri);
  for (const [name, value] of Object.entries(parameters)) if (value !== null) target.searchParams.append(name, value);
  return target.href;
}
