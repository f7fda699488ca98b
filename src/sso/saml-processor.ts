import { type CacheProvider, type Profile, SAML, ValidateInResponseTo } from "@node-saml/node-saml";
import { LoginError, type LoginErrorCode } from "./login-error.ts";
import { LOGIN_TIMEOUT_MS } from "./pending-login.ts";
import type { SamlAssertion, SamlConfig, SamlWorkerRequest, SamlWorkerResponse } from "./saml-worker-messages.ts";

/**
 * What an answer may hold, since anybody may post one and what reading it takes grows with the square. own choice: people in
 * some hundred groups; of what is encrypted only the size is known.
 */
const RESPONSE_LIMITS = { nodes: 1_000, attributes: 2_000, encryptedBytes: 40_000 };

/** A tag as XML has it, and what else may begin with its sign. */
const TAG = /<(?:[^\s<>"'=/!?]+(?:\s+[^\s<>"'=/]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*\/?|\/[^\s<>"'=/]+\s*)>/g;
const NO_TAG = /<(?:!--|!\[CDATA\[|\?)/g;

/** What is wrong by the words of the library. @source @node-saml/node-saml 5 */
const ERROR_PATTERNS: readonly (readonly [RegExp, LoginErrorCode])[] = [
  [/InResponseTo/i, "replayed"],
  [/signature|signed/i, "signature"],
  // Whoever presents it may do so for a time only.
  [/expired|not yet valid|subject confirmation/i, "expired"],
  [/audience|issuer/i, "audience"],
  [/^SAML provider returned/, "denied"],
  // What it says else may be a piece of what the provider sent.
  [/^(Missing|Unknown|No decryption key|Cannot obtain|Not a valid XML|(key )?encryption algorithm)/, "answer"],
];

/**
 * Answers a question by the library; what is wrong with what a provider sent is a `fault`. Reading takes up to a second of
 * the thread that calls it, whatever somebody posts.
 */
export async function handleSamlRequest(question: SamlWorkerRequest): Promise<SamlWorkerResponse> {
  try {
    if (question.what === "read") return { said: await readResponse(question) };
    const { parties } = question;
    if (question.what === "url") {
      const library = createSaml(parties, { ...NO_CACHE, saveAsync: async () => null }, question.request);
      return { text: await library.getAuthorizeUrlAsync(question.relay, "", {}) };
    }
    const { certificate } = parties;
    return { text: createSaml(parties, NO_CACHE).generateServiceProviderMetadata(certificate, certificate) };
  } catch (error) {
    const { code, message } = error instanceof LoginError ? error : toLoginError(error, question);
    return { fault: { code, words: message } };
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
    issuer,
    audience: issuer,
    idpCert: [...parties.idpCertificates],
    ...(idpIssuer ? { idpIssuer } : {}),
    wantAssertionsSigned: true,
    // The assertion's own signature says who it is; many providers sign nothing else.
    wantAuthnResponseSigned: false,
    identifierFormat: null,
    disableRequestedAuthnContext: true,
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
  // The one request that it may answer.
  const getAsync = async (id: string): Promise<string | null> => (id === request ? requestedAt : null);
  const library = createSaml(parties, { ...NO_CACHE, getAsync });
  const { profile } = await library.validatePostResponseAsync({ SAMLResponse: response });
  if (!profile) throw new LoginError("answer", "The provider sent no assertion.");
  return toAssertion(profile);
}

/** Throws LoginError `answer` for what would take long to read. */
function assertResponseSize(xml: string): void {
  const counted = (pattern: RegExp): number => xml.match(pattern)?.length ?? 0;
  // The library takes attributes without a value or its quotes, too; those would not be counted.
  if (counted(TAG) + counted(NO_TAG) !== counted(/</g)) throw new LoginError("answer", "The answer is no good XML.");
  const isLarge =
    counted(/<[^/]/g) > RESPONSE_LIMITS.nodes ||
    counted(/=\s*["']/g) > RESPONSE_LIMITS.attributes ||
    (xml.length > RESPONSE_LIMITS.encryptedBytes && xml.includes("EncryptedAssertion"));
  if (isLarge) throw new LoginError("answer", "The provider's answer is too large.");
}

interface ParsedAssertion {
  $?: { ID?: string };
  Conditions?: { $?: { NotOnOrAfter?: string } }[];
  Subject?: {
    SubjectConfirmation?: { SubjectConfirmationData?: { $?: { Recipient?: string; InResponseTo?: string } }[] }[];
  }[];
}

function toAssertion(profile: Profile): SamlAssertion {
  const assertion = (profile.getAssertion?.() as { Assertion?: ParsedAssertion } | undefined)?.Assertion ?? {};
  const confirmations = assertion.Subject?.[0]?.SubjectConfirmation ?? [];
  const data = confirmations.flatMap((each) => each.SubjectConfirmationData?.[0]?.$ ?? []);
  return {
    nameId: profile.nameID,
    attributes: (profile.attributes ?? {}) as Readonly<Record<string, unknown>>,
    issuer: profile.issuer,
    assertionId: assertion.$?.ID ?? null,
    notOnOrAfter: assertion.Conditions?.[0]?.$?.NotOnOrAfter ?? null,
    bearers: data.map(({ Recipient, InResponseTo }) => ({
      recipient: Recipient ?? null,
      inResponseTo: InResponseTo ?? null,
    })),
  };
}

function toLoginError(error: unknown, { what }: SamlWorkerRequest): LoginError {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, 300);
  // What we ask is made of the row alone.
  if (what !== "read") return new LoginError("answer", message);
  const code = ERROR_PATTERNS.find(([words]) => words.test(message))?.[1];
  return new LoginError(code ?? "answer", code === undefined ? "The provider's answer can't be read." : message);
}
