import { type CacheProvider, type Profile, SAML, ValidateInResponseTo } from "@node-saml/node-saml";
import { LOG_IN_MS } from "./kept-log-in.ts";
import { LogInFault, type LogInFaultCode } from "./log-in-fault.ts";
import type { SamlAnswer, SamlParties, SamlQuestion, SamlSaid } from "./saml-questions.ts";

/**
 * What an answer may hold, since anybody may post one and what reading it takes grows with the square. own choice: people in
 * some hundred groups; of what is encrypted only the size is known.
 */
const MOST = { nodes: 1_000, attributes: 2_000, encryptedBytes: 40_000 };

/** A tag as XML has it, and what else may begin with its sign. */
const TAG = /<(?:[^\s<>"'=/!?]+(?:\s+[^\s<>"'=/]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*\/?|\/[^\s<>"'=/]+\s*)>/g;
const NO_TAG = /<(?:!--|!\[CDATA\[|\?)/g;

/** What is wrong by the words of the library. @source @node-saml/node-saml 5 */
const FAULTS: readonly (readonly [RegExp, LogInFaultCode])[] = [
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
export async function answerSaml(question: SamlQuestion): Promise<SamlAnswer> {
  try {
    if (question.what === "read") return { said: await read(question) };
    const { parties } = question;
    if (question.what === "url") {
      const library = libraryOf(parties, { ...NOTHING_KEPT, saveAsync: async () => null }, question.request);
      return { text: await library.getAuthorizeUrlAsync(question.relay, "", {}) };
    }
    const { certificate } = parties;
    return { text: libraryOf(parties, NOTHING_KEPT).generateServiceProviderMetadata(certificate, certificate) };
  } catch (error) {
    const { code, message } = error instanceof LogInFault ? error : faultOf(error, question);
    return { fault: { code, words: message } };
  }
}

const NOTHING_KEPT: CacheProvider = {
  saveAsync: async () => null,
  getAsync: async () => null,
  removeAsync: async () => null,
};

function libraryOf(parties: SamlParties, cacheProvider: CacheProvider, request?: string): SAML {
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
    requestIdExpirationPeriodMs: LOG_IN_MS,
    cacheProvider,
    ...(request ? { generateUniqueId: () => request } : {}),
    ...(key ? { privateKey: key, decryptionPvk: key } : {}),
  });
}

async function read({ parties, request, requestedAt, response }: SamlQuestion & { what: "read" }): Promise<SamlSaid> {
  requireSmall(Buffer.from(response, "base64").toString());
  // The one request that it may answer.
  const getAsync = async (id: string): Promise<string | null> => (id === request ? requestedAt : null);
  const library = libraryOf(parties, { ...NOTHING_KEPT, getAsync });
  const { profile } = await library.validatePostResponseAsync({ SAMLResponse: response });
  if (!profile) throw new LogInFault("answer", "The provider sent no assertion.");
  return saidBy(profile);
}

/** Throws LogInFault `answer` for what would take long to read. */
function requireSmall(xml: string): void {
  const counted = (pattern: RegExp): number => xml.match(pattern)?.length ?? 0;
  // The library takes attributes without a value or its quotes, too; those would not be counted.
  if (counted(TAG) + counted(NO_TAG) !== counted(/</g)) throw new LogInFault("answer", "The answer is no good XML.");
  const isLarge =
    counted(/<[^/]/g) > MOST.nodes ||
    counted(/=\s*["']/g) > MOST.attributes ||
    (xml.length > MOST.encryptedBytes && xml.includes("EncryptedAssertion"));
  if (isLarge) throw new LogInFault("answer", "The provider's answer is too large.");
}

interface ParsedAssertion {
  $?: { ID?: string };
  Conditions?: { $?: { NotOnOrAfter?: string } }[];
  Subject?: {
    SubjectConfirmation?: { SubjectConfirmationData?: { $?: { Recipient?: string; InResponseTo?: string } }[] }[];
  }[];
}

function saidBy(profile: Profile): SamlSaid {
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

function faultOf(error: unknown, { what }: SamlQuestion): LogInFault {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, 300);
  // What we ask is made of the row alone.
  if (what !== "read") return new LogInFault("answer", message);
  const code = FAULTS.find(([words]) => words.test(message))?.[1];
  return new LogInFault(code ?? "answer", code === undefined ? "The provider's answer can't be read." : message);
}
