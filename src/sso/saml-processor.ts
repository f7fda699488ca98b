import { type CacheProvider, type Profile, SAML, ValidateInResponseTo } from "@node-saml/node-saml";
import { sentence } from "../lib/sentences/sentences.ts";
import { LoginError, type LoginErrorCode } from "./login-error.ts";
import { LOGIN_TIMEOUT_MS } from "./pending-login.ts";
import { inflateLogoutRequest, readLogoutRequest } from "./saml-logout.ts";
import type { SamlAssertion, SamlConfig, SamlWorkerRequest, SamlWorkerResponse } from "./saml-worker-messages.ts";
import { withoutSha1 } from "./sha1-refusal.ts";

/**
 * Limits of a SAML response. Anyone may post one, and the parsing time grows with the square of its size. Enough for
 * users in several hundred groups; of encrypted assertions only the size is known.
 */
const RESPONSE_LIMITS = { nodes: 1_000, attributes: 2_000, encryptedBytes: 40_000 };

/** A well-formed XML tag; `NO_TAG` matches the other constructs that start with `<`. */
const TAG = /<(?:[^\s<>"'=/!?]+(?:\s+[^\s<>"'=/]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*\/?|\/[^\s<>"'=/]+\s*)>/g;
const NO_TAG = /<(?:!--|!\[CDATA\[|\?)/g;

/** Login error codes by the error messages of the library. @source @node-saml/node-saml 5 */
const ERROR_PATTERNS: readonly (readonly [RegExp, LoginErrorCode])[] = [
  [/InResponseTo/i, "replayed"],
  [/signature|signed/i, "signature"],
  // The subject confirmation limits how long an assertion may be presented.
  [/expired|not yet valid|subject confirmation/i, "expired"],
  [/audience|issuer/i, "audience"],
  [/^SAML provider returned/, "denied"],
  // Other messages may quote the response, so they are not logged.
  [/is not supported$/, "signature"],
  [/^(Missing|Unknown|No decryption key|Cannot obtain|Not a valid XML|(key )?encryption algorithm)/, "answer"],
];

/**
 * Handles a request of the SAML service; errors in the response become `error`. Validation blocks the calling thread
 * for up to a second in the worst case.
 */
export async function handleSamlRequest(input: SamlWorkerRequest): Promise<SamlWorkerResponse> {
  try {
    if (input.what === "read") return { assertion: await readResponse(input) };
    const { parties } = input;
    if (input.what === "logout") {
      const xml = inflateLogoutRequest(input.message);
      assertResponseSize(xml);
      const read = () => readLogoutRequest(createSaml(parties, NO_CACHE), xml, input);
      return { logout: await (parties.allowSha1 ? read() : withoutSha1(read)) };
    }
    if (input.what === "url") {
      const library = createSaml(parties, { ...NO_CACHE, saveAsync: async () => null }, input.request);
      return { text: await library.getAuthorizeUrlAsync(input.relay, "", {}) };
    }
    const { certificate } = parties;
    const metadata = createSaml(parties, NO_CACHE).generateServiceProviderMetadata(certificate, certificate);
    // The library names the other binding for logout.
    return { text: metadata.replace(/(<SingleLogoutService Binding="[^"]*:)HTTP-POST"/, '$1HTTP-Redirect"') };
  } catch (error) {
    const { code, message } = error instanceof LoginError ? error : toLoginError(error, input);
    return { error: { code, message } };
  }
}

const NO_CACHE: CacheProvider = {
  saveAsync: async () => null,
  getAsync: async () => null,
  removeAsync: async () => null,
};

function createSaml(parties: SamlConfig, cacheProvider: CacheProvider, request?: string): SAML {
  const { consumerUrl, issuer, privateKey: key, idpIssuer, clockToleranceMs } = parties;
  return new SAML({
    callbackUrl: consumerUrl,
    entryPoint: parties.entryPoint,
    logoutCallbackUrl: parties.logoutCallbackUrl,
    ...(parties.logoutUrl ? { logoutUrl: parties.logoutUrl } : {}),
    issuer,
    audience: issuer,
    idpCert: [...parties.idpCertificates],
    ...(idpIssuer ? { idpIssuer } : {}),
    // The signed assertion is what counts; many providers do not sign the response. Without it the response must be signed.
    wantAssertionsSigned: !parties.acceptSignedResponse,
    wantAuthnResponseSigned: false,
    identifierFormat: parties.nameIdFormat,
    disableRequestedAuthnContext: parties.contexts.length === 0,
    authnContext: [...parties.contexts],
    forceAuthn: parties.forceAuthentication,
    signatureAlgorithm: "sha256",
    digestAlgorithm: "sha256",
    acceptedClockSkewMs: clockToleranceMs,
    validateInResponseTo: ValidateInResponseTo.always,
    requestIdExpirationPeriodMs: LOGIN_TIMEOUT_MS,
    cacheProvider,
    ...(request ? { generateUniqueId: () => request } : {}),
    ...(key ? { privateKey: key, decryptionPvk: key } : {}),
  });
}

async function readResponse({
  parties,
  request,
  requestedAt,
  response,
}: SamlWorkerRequest & { what: "read" }): Promise<SamlAssertion> {
  assertResponseSize(Buffer.from(response, "base64").toString());
  // The response may answer this request only.
  const getAsync = async (id: string): Promise<string | null> => (id === request ? requestedAt : null);
  const library = createSaml(parties, { ...NO_CACHE, getAsync });
  const validate = () => library.validatePostResponseAsync({ SAMLResponse: response });
  const { profile } = await (parties.allowSha1 ? validate() : withoutSha1(validate));
  if (!profile) throw new LoginError("answer", sentence("login.no-assertion"));
  return toAssertion(profile);
}

/** Throws LoginError `answer` for a response that would take long to parse. */
function assertResponseSize(xml: string): void {
  const counted = (pattern: RegExp): number => xml.match(pattern)?.length ?? 0;
  // The library also accepts attributes without value or quotes, which would escape the count.
  if (counted(TAG) + counted(NO_TAG) !== counted(/</g))
    throw new LoginError("answer", sentence("login.response-no-xml"));
  const isLarge =
    counted(/<[^/]/g) > RESPONSE_LIMITS.nodes ||
    counted(/=\s*["']/g) > RESPONSE_LIMITS.attributes ||
    (xml.length > RESPONSE_LIMITS.encryptedBytes && xml.includes("EncryptedAssertion"));
  if (isLarge) throw new LoginError("answer", sentence("login.response-too-large"));
}

interface ParsedAssertion {
  $?: { ID?: string };
  AuthnStatement?: { $?: { AuthnInstant?: string }; AuthnContext?: { AuthnContextClassRef?: unknown[] }[] }[];
  Conditions?: { $?: { NotOnOrAfter?: string } }[];
  Subject?: {
    SubjectConfirmation?: { SubjectConfirmationData?: { $?: { Recipient?: string; InResponseTo?: string } }[] }[];
  }[];
}

function toAssertion(profile: Profile): SamlAssertion {
  const assertion = (profile.getAssertion?.() as { Assertion?: ParsedAssertion } | undefined)?.Assertion ?? {};
  const confirmations = assertion.Subject?.[0]?.SubjectConfirmation ?? [];
  const data = confirmations.flatMap((each) => each.SubjectConfirmationData?.[0]?.$ ?? []);
  const [statement] = assertion.AuthnStatement ?? [];
  return {
    nameId: profile.nameID,
    nameIdFormat: typeof profile.nameIDFormat === "string" ? profile.nameIDFormat : null,
    contexts:
      statement?.AuthnContext?.flatMap(({ AuthnContextClassRef: all }) => (all ?? []).flatMap(textOfNode)) ?? [],
    authenticatedAt: statement?.$?.AuthnInstant ?? null,
    attributes: (profile.attributes ?? {}) as Readonly<Record<string, unknown>>,
    issuer: profile.issuer,
    assertionId: assertion.$?.ID ?? null,
    sessionIndex: typeof profile.sessionIndex === "string" ? profile.sessionIndex : null,
    notOnOrAfter: assertion.Conditions?.[0]?.$?.NotOnOrAfter ?? null,
    bearers: data.map(({ Recipient, InResponseTo }) => ({
      recipient: Recipient ?? null,
      inResponseTo: InResponseTo ?? null,
    })),
  };
}

/** The library gives an element without attributes as its text, others with the text in `_`. */
function textOfNode(node: unknown): string[] {
  const text = typeof node === "object" && node !== null && "_" in node ? node._ : node;
  return typeof text === "string" ? [text.trim()] : [];
}

function toLoginError(error: unknown, { what }: SamlWorkerRequest): LoginError {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, 300);
  // These requests contain only data of the row, so the message is safe to log.
  if (what !== "read" && what !== "logout") return new LoginError("answer", message);
  const code = ERROR_PATTERNS.find(([pattern]) => pattern.test(message))?.[1];
  return new LoginError(code ?? "answer", code === undefined ? sentence("login.response-unreadable") : message);
}
