import { randomBytes } from "node:crypto";
import { CallerError } from "../../lib/errors.ts";
import type { CertificateAndKey } from "../../ops/tls/certificate-authority.ts";
import { ADOPTIONS } from "../hub/tables.ts";
import { getRecord, type TransactionStore } from "../storage/transaction-program.ts";
import { readEndpointCertificate } from "./certificate-info.ts";
import {
  type CodeRefusal,
  checkEnrolmentCode,
  createEnrolmentCode,
  formatEnrolmentCode,
  type IdentityClaim,
  redeemEnrolmentCode,
  renewIdentity,
} from "./enrolment-records.ts";

/** What an appliance sends to be enrolled; `request` is PEM. */
export interface EnrolmentRequest {
  code: string;
  endpoint: string;
  request: string;
}

/** What it gets: its certificate and the authority that signed it (PEM), and the token for where TLS is broken up. */
export interface IssuedIdentity {
  endpoint: string;
  certificate: string;
  authority: string;
  token: string;
  /** Whether the appliance's users and rights may become the organisation's; not told with the next key. */
  mayAdopt?: boolean | undefined;
}

/** What enrolling needs. */
export interface EnrolmentServiceDeps {
  store: TransactionStore;
  /** The hub's own authority. */
  authority: CertificateAndKey;
  now(): number;
}

/** The cloud's part in making appliances known. */
export interface EnrolmentService {
  /** Makes a code that is good once, for 15 minutes; told once, kept as hash. */
  createCode(endpoint: string | null): Promise<{ code: string; until: number }>;
  /** Throws CallerError for a code or a request that is not good; nothing is changed then. */
  enrol(asked: EnrolmentRequest): Promise<IssuedIdentity>;
  /** Certificate for the next key of an appliance that shows a good one. Throws CallerError. */
  renew(endpoint: string, shownKeyHash: string, request: string): Promise<IssuedIdentity>;
}

const REFUSALS: Readonly<Record<CodeRefusal, string>> = {
  unknown: "There is no such code.",
  used: "The code was used before.",
  expired: "The code is too old.",
  "other-endpoint": "The code is for another appliance.",
};
function assertAccepted(refusal: CodeRefusal | null): void {
  if (refusal) throw new CallerError("invalid-value", REFUSALS[refusal]);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Makes it; the authority's key stays in here. */
export function createEnrolmentService({ store, authority, now }: EnrolmentServiceDeps): EnrolmentService {
  const sign = async (request: string, endpoint: string): Promise<IdentityClaim & { answer: IssuedIdentity }> => {
    if (!UUID.test(endpoint)) throw new CallerError("invalid-value", "The id of the appliance is not good.");
    const { issueEndpointCertificate, requestedPublicKey } = await import("./endpoint-certificate.ts");
    const certificate = await issueEndpointCertificate(authority, request, endpoint, now());
    const token = randomBytes(32).toString("base64url");
    const { keyHash, validTo: until } = readEndpointCertificate(certificate) as NonNullable<
      ReturnType<typeof readEndpointCertificate>
    >;
    const answer = { endpoint, certificate, authority: authority.certificate, token };
    return { endpoint, publicKey: requestedPublicKey(request), keyHash, token, until, answer };
  };
  return {
    async createCode(endpoint) {
      const code = formatEnrolmentCode(randomBytes(12));
      return { code, ...(await store.transact(() => createEnrolmentCode(code, endpoint, now()))) };
    },
    async enrol({ code, endpoint, request }) {
      // Nothing is signed for a stranger.
      assertAccepted(await store.read(() => checkEnrolmentCode(code, endpoint, now())));
      const { answer, ...asking } = await sign(request, endpoint);
      assertAccepted(await store.transact(() => redeemEnrolmentCode(code, asking, now())));
      return { ...answer, mayAdopt: (await store.read(() => getRecord(ADOPTIONS, endpoint))) !== null };
    },
    async renew(endpoint, shownKeyHash, request) {
      const { answer, ...asking } = await sign(request, endpoint);
      const isTaken = await store.transact(() => renewIdentity(asking, shownKeyHash, now()));
      if (!isTaken) throw new CallerError("invalid-value", "The key is not that of this appliance.");
      return answer;
    },
  };
}
