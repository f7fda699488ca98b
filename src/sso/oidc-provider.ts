import { Agent as PlainAgent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import type { ClientAuth, Configuration, CustomFetchOptions } from "openid-client";
import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import { type ConnectionPool, guardedFetch } from "../lib/guarded-fetch.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { readClaimTexts, readGroupClaim } from "./claim-values.ts";
import { findCause, isConnectionError, LoginError, type LoginErrorCode } from "./login-error.ts";
import { assertLoginStrength, requiredValues } from "./login-strength.ts";
import { readLogoutToken, sessionKeysOf } from "./logout-token.ts";
import {
  buildProviderUrls,
  type CallbackParameters,
  type ExternalIdentity,
  groupsAttributeFinding,
  type Provider,
  type ProviderCheck,
  type ProviderDeps,
  type RedirectState,
  runCheck,
} from "./provider.ts";

type Claims = Readonly<Record<string, unknown>>;

const DEFAULT_SCOPE = "openid email profile";

/** Login error codes by the error codes of the library. @source openid-client 6, ClientError */
const ERROR_CODES: Readonly<Record<string, LoginErrorCode>> = {
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: "expired",
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: "audience",
  OAUTH_KEY_SELECTION_FAILED: "signature",
  OAUTH_RESPONSE_IS_NOT_CONFORM: "down",
  OAUTH_RESPONSE_IS_NOT_JSON: "down",
};

/**
 * OpenID Connect: authorization code flow with PKCE, state and nonce; metadata and keys come from the discovery
 * document of the issuer.
 * @source OpenID Connect Core 1.0 §3.1; Discovery 1.0 §4; RP-Initiated Logout 1.0; RFC 7636
 */
export function createOidcProvider(row: IdentityProviderRow, deps: ProviderDeps): Provider {
  const { redirectUri } = buildProviderUrls(row, deps.baseUrl());
  // Discovered once: the provider is recreated hourly and when its row changes. Each configuration reads the keys again, so
  // that a key rotation counts at once: the library keeps them for a minute at least, and a code can be redeemed only once.
  let known: Promise<() => Configuration> | null = null;
  const secretMethod: SecretMethod = { isOther: false };
  const configuration = async (): Promise<Configuration> => {
    known ??= discover(row, deps, secretMethod).catch((error: unknown) => {
      known = null;
      throw error;
    });
    return (await known)();
  };
  return {
    test: () => test(row, configuration, redirectUri),
    redirect: {
      begin: () => withLoginErrors(async () => begin(row, await configuration(), redirectUri)),
      finish: (parameters, kept) =>
        withLoginErrors(async () => {
          const now = deps.clock.now();
          return finish(row, await configuration(), { redirectUri, parameters, kept, now, secretMethod });
        }),
      buildLogoutUrl: (back) => withLoginErrors(async () => buildLogoutUrl(row, await configuration(), back)),
      readLogoutToken: (token) =>
        withLoginErrors(async () => {
          const config = await configuration();
          const { issuer } = config.serverMetadata();
          return readLogoutToken(row, token, { issuer, fetchKeys: () => fetchKeys(config) }, deps.clock.now());
        }),
      metadata: async () => null,
    },
  };
}

async function discover(
  row: IdentityProviderRow,
  { store, policy: ssrfGuard, clock, signal }: ProviderDeps,
  secretMethod: SecretMethod,
): Promise<() => Configuration> {
  const client = await import("openid-client");
  const issuer = new URL(row.issuer ?? "");
  const { caCertificates: ca, clientSecret: sealed } = row;
  const connections = ca === null ? {} : { connections: connectionsTrusting(ca) };
  const secret = sealed === null || sealed === "" ? null : store.secrets.open(sealed);
  const options = {
    // Check the signature of the ID token although it arrives directly from the provider.
    execute: [
      client.enableNonRepudiationChecks,
      ...(issuer.protocol === "http:" ? [client.allowInsecureRequests] : []),
    ],
    [client.customFetch]: async (url: string, given: CustomFetchOptions) => {
      const { method, headers } = given;
      const body = given.body === undefined || given.body === null ? {} : { body: String(given.body) };
      const response = await guardedFetch(
        url,
        { method, headers, ...body },
        { ssrfGuard, clock, signal, ...connections },
      );
      return new Response([204, 304].includes(response.status) ? null : response.body, {
        status: response.status,
        headers: response.headers,
      });
    },
  };
  const metadata = { ...(secret ? { client_secret: secret } : {}), [client.clockTolerance]: row.clockToleranceInSecs };
  const clientId = row.clientId ?? "";
  const authentication = secret ? clientAuthentication(client, secretMethod) : client.None();
  const found = await client.discovery(issuer, clientId, metadata, authentication, options);
  return () => {
    const made = new client.Configuration({ ...found.serverMetadata() }, clientId, metadata, authentication);
    made[client.customFetch] = options[client.customFetch];
    for (const prepare of options.execute) prepare(made);
    return made;
  };
}

/** How the client secret is sent: `isOther` once the provider refused the first way. */
interface SecretMethod {
  isOther: boolean;
}

/** Sends the client secret in a way that the provider supports. @source OpenID Connect Discovery 1.0 §3 */
function clientAuthentication(
  { ClientSecretBasic, ClientSecretPost }: typeof import("openid-client"),
  secretMethod: SecretMethod,
): ClientAuth {
  const [basic, post] = [ClientSecretBasic(), ClientSecretPost()];
  return (server, ...more) => {
    const { token_endpoint_auth_methods_supported: methods } = server;
    const inBody = methods?.includes("client_secret_post") ?? false;
    return (inBody !== secretMethod.isOther ? post : basic)(server, ...more);
  };
}

/** The provider may support both ways, but take only one from this client. */
function isSecretRefused(error: unknown, config: Configuration): boolean {
  const { error: code } = error as { error?: string };
  const { token_endpoint_auth_methods_supported: methods = [] } = config.serverMetadata();
  const areBothSupported = ["client_secret_basic", "client_secret_post"].every((method) => methods.includes(method));
  return areBothSupported && (code === "invalid_client" || code === "unauthorized_client");
}

/** Connections that trust the given certificate authorities instead of the system's. */
function connectionsTrusting(ca: string): ConnectionPool {
  const [plain, secure] = [new PlainAgent(), new SecureAgent({ ca })];
  return { agentFor: ({ protocol }) => (protocol === "https:" ? secure : plain), close: () => undefined };
}

async function begin(row: IdentityProviderRow, config: Configuration, redirectUri: string) {
  const client = await import("openid-client");
  const kept = {
    verifier: client.randomPKCECodeVerifier(),
    state: client.randomState(),
    nonce: client.randomNonce(),
  };
  const location = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: row.scope ?? DEFAULT_SCOPE,
    code_challenge: await client.calculatePKCECodeChallenge(kept.verifier),
    code_challenge_method: "S256",
    state: kept.state,
    nonce: kept.nonce,
    ...(row.requiredAcr ? { acr_values: requiredValues(row.requiredAcr).join(" ") } : {}),
    ...(row.maxLoginAgeInSecs === null ? {} : { max_age: String(row.maxLoginAgeInSecs) }),
  });
  return { location: location.href, kept };
}

interface OidcCallback {
  redirectUri: string;
  parameters: CallbackParameters;
  kept: RedirectState;
  /** Epoch ms. */
  now: number;
  secretMethod: SecretMethod;
}

async function finish(
  row: IdentityProviderRow,
  config: Configuration,
  { redirectUri, parameters, kept, now, secretMethod }: OidcCallback,
): Promise<ExternalIdentity> {
  const client = await import("openid-client");
  const { verifier = "", state = "", nonce = "" } = kept;
  if (parameters.state !== state)
    throw new LoginError("stale", sentence("login.the-state-parameter-does-not-match-the-one-that-was"));
  const callback = new URL(`${redirectUri}?${new URLSearchParams(parameters)}`);
  const checks = {
    ...{ pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce },
    idTokenExpected: true,
  };
  const redeemCode = () => client.authorizationCodeGrant(config, callback, checks);
  const tokens = await redeemCode().catch((error: unknown) => {
    if (!isSecretRefused(error, config)) throw error;
    secretMethod.isOther = !secretMethod.isOther;
    return redeemCode();
  });
  const claims = tokens.claims();
  if (!claims) throw new LoginError("answer", sentence("login.the-provider-sent-no-id-token"));
  // Only the signed token counts.
  const strength = { levels: readClaimTexts(claims.acr), methods: readClaimTexts(claims.amr) };
  const authenticatedAt = typeof claims.auth_time === "number" ? claims.auth_time * 1_000 : null;
  assertLoginStrength(row, { ...strength, authenticatedAt }, now);
  const userInfo = config.serverMetadata().userinfo_endpoint
    ? await client.fetchUserInfo(config, tokens.access_token, claims.sub)
    : {};
  return { ...readIdentity(row, { ...userInfo, ...claims }), sessionKeys: sessionKeysOf(claims) };
}

/** The keys that the provider signs with. */
async function fetchKeys(config: Configuration): Promise<unknown> {
  const client = await import("openid-client");
  const request = { method: "GET", headers: {}, body: undefined, redirect: "manual" } as const;
  const response = await config[client.customFetch]?.(config.serverMetadata().jwks_uri ?? "", request);
  if (!response?.ok) throw new LoginError("down", sentence("login.keys-unreadable"));
  return response.json();
}

function readIdentity(row: IdentityProviderRow, claims: Claims): ExternalIdentity {
  const [subject] = readClaimTexts(claims[row.subjectAttribute ?? "sub"]);
  if (subject === undefined)
    throw new LoginError(
      "answer",
      sentence("login.the-provider-did-not-send-the-claim-claim", { claim: row.subjectAttribute ?? "sub" }),
    );
  const [email] = readClaimTexts(claims[row.emailAttribute ?? "email"]);
  const groups = row.groupsAttribute === null ? null : readGroupClaim(claims, row.groupsAttribute);
  return {
    subject,
    email: isEmailVerified(row, claims) ? (email ?? null) : null,
    name: readClaimTexts(claims[row.nameAttribute ?? "name"])[0] ?? null,
    groups: groups?.map((name) => ({ name, externalId: null })) ?? null,
  };
}

/**
 * True when the e-mail address is verified; otherwise anyone who can choose an address at the provider could log in as
 * another user. Some providers send a string. If the provider does not send `email_verified`, an `emailAttribute`
 * configured in the row counts as consent.
 * @source OpenID Connect Core 1.0 §5.1
 */
function isEmailVerified({ emailAttribute }: IdentityProviderRow, { email_verified: verified }: Claims): boolean {
  return verified === undefined || verified === null
    ? Boolean(emailAttribute)
    : String(verified).toLowerCase() === "true";
}

/**
 * The logout URL of the provider; null if logout is disabled or not supported. It names the client but no
 * `id_token_hint`: ID tokens are not stored, because each is a secret about a person. So the provider asks for
 * confirmation before it ends its session. It then redirects back if it knows the address for this client. The local
 * session is already over.
 * @source OpenID Connect RP-Initiated Logout 1.0 §2, §3
 */
async function buildLogoutUrl(row: IdentityProviderRow, config: Configuration, back: string): Promise<string | null> {
  const client = await import("openid-client");
  if (!row.logOut || !config.serverMetadata().end_session_endpoint) return null;
  return client.buildEndSessionUrl(config, { post_logout_redirect_uri: back }).href;
}

async function test(
  row: IdentityProviderRow,
  configuration: () => Promise<Configuration>,
  redirectUri: string,
): Promise<ProviderCheck[]> {
  const checks: ProviderCheck[] = [];
  const config = await runCheck(
    checks,
    "discovery",
    () => withLoginErrors(configuration),
    (found) => {
      const { issuer } = found.serverMetadata();
      const words = sentence("provider-test.discovered", { issuer, uri: redirectUri });
      return { code: "described", value: issuer, words };
    },
  );
  if (!config) return checks;
  await runCheck(
    checks,
    "page",
    async () => begin(row, config, redirectUri),
    () => {
      const at = config.serverMetadata().authorization_endpoint ?? "";
      return { code: "log-in-page", value: at, words: sentence("provider-test.login-page", { url: at }) };
    },
  );
  await runCheck(checks, "groups", async () => row, groupsAttributeFinding);
  return checks;
}

/** Runs a protocol step and converts its errors to LoginError. */
async function withLoginErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toLoginError(error);
  }
}

function toLoginError(error: unknown): LoginError {
  if (error instanceof LoginError) return error;
  const outage = findCause(error, isConnectionError);
  if (outage) return new LoginError("down", outage.message);
  const { code, error: reason, message } = error as { code?: string; error?: string; message?: string };
  if (code === "OAUTH_AUTHORIZATION_RESPONSE_ERROR")
    return new LoginError(
      "denied",
      sentence("login.the-provider-returned-the-error-reason", { reason: String(reason) }),
    );
  if (code === "OAUTH_RESPONSE_BODY_ERROR") {
    // Authorization codes are single use and short-lived.
    const isUsed = reason === "invalid_grant";
    return new LoginError(
      isUsed ? "replayed" : "down",
      sentence("login.the-provider-returned-the-error-reason", { reason: String(reason) }),
    );
  }
  const isSigned = !findCause(error, (each): each is Error => /signature/i.test((each as Error).message));
  const known = isSigned ? ERROR_CODES[code ?? ""] : "signature";
  return new LoginError(
    known ?? "answer",
    message === undefined ? sentence("login.response-malformed") : `${message}.`,
  );
}
