import { Agent as PlainAgent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import type { ClientAuth, Configuration, CustomFetchOptions } from "openid-client";
import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import { type ConnectionPool, guardedFetch } from "../lib/guarded-fetch.ts";
import { readClaimTexts } from "./claim-values.ts";
import { findCause, isConnectionError, LoginError, type LoginErrorCode } from "./login-error.ts";
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

/** What is wrong by the code of the library. @source openid-client 6, ClientError */
const ERROR_CODES: Readonly<Record<string, LoginErrorCode>> = {
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: "expired",
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: "audience",
  OAUTH_KEY_SELECTION_FAILED: "signature",
  OAUTH_RESPONSE_IS_NOT_CONFORM: "down",
  OAUTH_RESPONSE_IS_NOT_JSON: "down",
};

/**
 * OpenID Connect: authorization code with PKCE, state and nonce; what the provider says of itself and its keys are read
 * from where its issuer says. @source OpenID Connect Core 1.0 §3.1; Discovery 1.0 §4; RP-Initiated Logout 1.0; RFC 7636
 */
export function createOidcProvider(row: IdentityProviderRow, deps: ProviderDeps): Provider {
  const { redirectUri } = buildProviderUrls(row, deps.baseUrl());
  // Read once: providers are made anew when their rows change, and by the hour.
  let known: Promise<Configuration> | null = null;
  const configuration = (): Promise<Configuration> => {
    known ??= discover(row, deps).catch((error: unknown) => {
      known = null;
      throw error;
    });
    return known;
  };
  return {
    test: () => test(row, configuration, redirectUri),
    redirect: {
      begin: () => withLoginErrors(async () => begin(row, await configuration(), redirectUri)),
      finish: (brought, kept) =>
        withLoginErrors(async () => finish(row, await configuration(), { redirectUri, brought, kept })),
      buildLogoutUrl: (back) => withLoginErrors(async () => buildLogoutUrl(row, await configuration(), back)),
      metadata: async () => null,
    },
  };
}

async function discover(
  row: IdentityProviderRow,
  { store, policy: ssrfGuard, clock, signal }: ProviderDeps,
): Promise<Configuration> {
  const client = await import("openid-client");
  const issuer = new URL(row.issuer ?? "");
  const { caCertificates: ca, clientSecret: sealed } = row;
  const connections = ca === null ? {} : { connections: connectionsTrusting(ca) };
  const secret = sealed === null || sealed === "" ? null : store.secrets.open(sealed);
  const options = {
    // Signatures are checked even though the token comes straight from the provider.
    execute: [
      client.enableNonRepudiationChecks,
      ...(issuer.protocol === "http:" ? [client.allowInsecureRequests] : []),
    ],
    [client.customFetch]: async (url: string, given: CustomFetchOptions) => {
      const { method, headers } = given;
      const body = given.body === undefined || given.body === null ? {} : { body: String(given.body) };
      const got = await guardedFetch(url, { method, headers, ...body }, { ssrfGuard, clock, signal, ...connections });
      return new Response([204, 304].includes(got.status) ? null : got.body, {
        status: got.status,
        headers: got.headers,
      });
    },
  };
  const metadata = { ...(secret ? { client_secret: secret } : {}), [client.clockTolerance]: row.clockToleranceInSecs };
  return client.discovery(
    issuer,
    row.clientId ?? "",
    metadata,
    secret ? clientAuthentication(client) : client.None(),
    options,
  );
}

/** Shows the secret as the provider says it wants it. @source OpenID Connect Discovery 1.0 §3 */
function clientAuthentication({ ClientSecretBasic, ClientSecretPost }: typeof import("openid-client")): ClientAuth {
  const [basic, post] = [ClientSecretBasic(), ClientSecretPost()];
  return (server, ...more) => {
    const { token_endpoint_auth_methods_supported: ways } = server;
    return (ways?.includes("client_secret_post") ? post : basic)(server, ...more);
  };
}

/** Connections that trust other authorities than the machine does. */
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
  });
  return { location: location.href, kept };
}

async function finish(
  row: IdentityProviderRow,
  config: Configuration,
  { redirectUri, brought, kept }: { redirectUri: string; brought: CallbackParameters; kept: RedirectState },
): Promise<ExternalIdentity> {
  const client = await import("openid-client");
  const { verifier = "", state = "", nonce = "" } = kept;
  if (brought.state !== state) throw new LoginError("stale", "The state is not the one that was sent.");
  const tokens = await client.authorizationCodeGrant(
    config,
    new URL(`${redirectUri}?${new URLSearchParams(brought)}`),
    {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    },
  );
  const claims = tokens.claims();
  if (!claims) throw new LoginError("answer", "The provider sent no ID token.");
  const more = config.serverMetadata().userinfo_endpoint
    ? await client.fetchUserInfo(config, tokens.access_token, claims.sub)
    : {};
  return readIdentity(row, { ...more, ...claims });
}

function readIdentity(row: IdentityProviderRow, claims: Claims): ExternalIdentity {
  const [subject] = readClaimTexts(claims[row.subjectAttribute ?? "sub"]);
  if (subject === undefined) throw new LoginError("answer", `The provider did not say ${row.subjectAttribute}.`);
  const [email] = readClaimTexts(claims[row.emailAttribute ?? "email"]);
  const groups = row.groupsAttribute === null ? null : readClaimTexts(claims[row.groupsAttribute]);
  return {
    subject,
    email: isEmailVerified(row, claims) ? (email ?? null) : null,
    name: readClaimTexts(claims[row.nameAttribute ?? "name"])[0] ?? null,
    groups: groups?.map((name) => ({ name, externalId: null })) ?? null,
  };
}

/**
 * Whether the address is that of the person; else whoever may choose one there could log in as anybody here. Some providers
 * say it as a text. own choice: of those that say nothing, whoever names the claim in the row vouches for it.
 * @source OpenID Connect Core 1.0 §5.1
 */
function isEmailVerified({ emailAttribute }: IdentityProviderRow, { email_verified: said }: Claims): boolean {
  return said === undefined || said === null ? Boolean(emailAttribute) : String(said).toLowerCase() === "true";
}

/**
 * Where whoever logged out here goes to do so at the provider; null where that is not wanted, or it has no such place. It is
 * told which client asks, and not who: ID tokens are not kept here, since each would be a secret about a person. So the
 * provider asks the person before it ends its session, as it must without one, and leads back here where it knows the
 * address for this client; some show a page of their own instead. The session here is over before, whatever comes of it.
 * @source OpenID Connect RP-Initiated Logout 1.0 §2, §3; own choice: no `id_token_hint`
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
      const words = `${issuer} describes itself. It must send people back to ${redirectUri}.`;
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
      return { code: "log-in-page", value: at, words: `People log in at ${at}.` };
    },
  );
  await runCheck(checks, "groups", async () => row, groupsAttributeFinding);
  return checks;
}

/** Runs a step of the protocol; what goes wrong becomes a LoginError. */
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
  const { code, error: word, message } = error as { code?: string; error?: string; message?: string };
  if (code === "OAUTH_AUTHORIZATION_RESPONSE_ERROR") return new LoginError("denied", `The provider says ${word}.`);
  if (code === "OAUTH_RESPONSE_BODY_ERROR") {
    // A code is good once and for a short while.
    const isSpent = word === "invalid_grant";
    return new LoginError(isSpent ? "replayed" : "down", `The provider says ${word}.`);
  }
  const isSigned = !findCause(error, (each): each is Error => /signature/i.test((each as Error).message));
  const known = isSigned ? ERROR_CODES[code ?? ""] : "signature";
  return new LoginError(known ?? "answer", `${message ?? "The answer can't be understood"}.`);
}
