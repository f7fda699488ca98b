import { newId } from "../lib/ids.ts";
import userTokens from "../resources/people/user-tokens.ts";
import type { ActorContext, StoreReader, Transaction } from "../store/store.ts";
import { type Application, findApplication } from "./oauth-clients.ts";
import { type OAuthErrorCode, OAuthRequestError } from "./oauth-error.ts";
import { formatScopes, parseScopes, resolveGrantedScopes } from "./oauth-scopes.ts";
import { generateToken } from "./tokens.ts";

/** How long a code waits to be exchanged. own choice: a minute; RFC 6749 §4.1.2 asks for ten at most. */
const AUTHORIZATION_CODE_MS = 60_000;

/** The parameters of the authorize page by their OAuth 2 names; null or absent when not sent. */
export type AuthorizationParameters = Readonly<Record<string, string | null | undefined>>;

/** What an application asks a user for; checked. */
export interface AuthorizationRequest {
  application: Application;
  redirectUri: string;
  /** False when the address was not sent but is the only one registered. */
  isRedirectExplicit: boolean;
  /** Empty: all the rights of the user. */
  scopes: readonly string[];
  state: string | null;
  /** S256, base64url; null without PKCE. */
  codeChallenge: string | null;
}

/**
 * Checks what an application asks for. Throws OAuthRequestError: without a location where application or address can't be
 * trusted, else with the one that tells the application. @source RFC 6749 §4.1.1, RFC 7636 §4.3
 */
export function parseAuthorizationRequest(reader: StoreReader, given: AuthorizationParameters): AuthorizationRequest {
  const application = findApplication(reader, given.client_id ?? "");
  if (!application) throw new OAuthRequestError("invalid_client", "No application is known by this client_id.");
  const redirectUri = resolveRedirectUri(application, given.redirect_uri ?? null);
  const state = given.state ?? null;
  const back = (error: OAuthErrorCode, message: string): OAuthRequestError =>
    new OAuthRequestError(error, message, buildErrorRedirect({ redirectUri, state }, error, message));
  if (given.response_type !== "code") throw back("unsupported_response_type", "The response_type must be code.");
  return {
    application,
    redirectUri,
    isRedirectExplicit: given.redirect_uri != null,
    scopes: resolveScopes(application, given.scope ?? null, back),
    state,
    codeChallenge: readCodeChallenge(application, given, back),
  };
}

/** Where the browser goes when the request is refused. */
export function buildErrorRedirect(
  { redirectUri, state }: Pick<AuthorizationRequest, "redirectUri" | "state">,
  error: OAuthErrorCode,
  message: string,
): string {
  return appendParameters(redirectUri, { error, error_description: message, state });
}

/** Writes the code by which the application gets its tokens, and returns where the browser takes it. */
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
    throw new OAuthRequestError("invalid_request", "The redirect_uri is not one of the application's.");
  return uri;
}

type ErrorRedirect = (error: OAuthErrorCode, message: string) => OAuthRequestError;

function resolveScopes(application: Application, scope: string | null, back: ErrorRedirect): string[] {
  try {
    return resolveGrantedScopes(parseScopes(scope), application);
  } catch (error) {
    throw error instanceof OAuthRequestError ? back(error.error, error.message) : error;
  }
}

function readCodeChallenge({ type }: Application, given: AuthorizationParameters, back: ErrorRedirect): string | null {
  const { code_challenge: challenge = null, code_challenge_method: method = null } = given;
  if (challenge === null && method === null && type === "confidential") return null;
  if (challenge === null) throw back("invalid_request", "A code_challenge is required.");
  if (method !== "S256") throw back("invalid_request", "The code_challenge_method must be S256.");
  if (!/^[\w-]{43}$/.test(challenge)) throw back("invalid_request", "The code_challenge is no SHA-256 in base64url.");
  return challenge;
}

function appendParameters(uri: string, parameters: Readonly<Record<string, string | null>>): string {
  const target = new URL(uri);
  for (const [name, value] of Object.entries(parameters)) if (value !== null) target.searchParams.append(name, value);
  return target.href;
}
