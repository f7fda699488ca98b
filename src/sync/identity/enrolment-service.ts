import { randomBytes } from "node:crypto";
import { CallerError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { CertificateAndKey } from "../../ops/tls/certificate-authority.ts";
import { ADOPTIONS } from "../hub/tables.ts";
import type { EnrolMode } from "../initial-sync/organisation-baseline.ts";
import { getRecord, type TransactionStore } from "../storage/transaction-program.ts";
import { readEndpointCertificate } from "./certificate-info.ts";
import {
  type CodeBinding,
  type CodeRefusal,
  checkEnrolmentCode,
  createEnrolmentCode,
  formatEnrolmentCode,
  type IdentityClaim,
  mayAdopt,
  redeemEnrolmentCode,
  renewIdentity,
} from "./enrolment-records.ts";

/** Enrolment request of an appliance; `request` is a PEM certificate request. */
export interface EnrolmentRequest {
  code: string;
  endpoint: string;
  request: string;
  /** How it enters the organisation; not sent by earlier releases, nor by an appliance that continues its link. */
  mode?: EnrolMode | undefined;
}

/** An issued identity: certificate and CA certificate (PEM), and the bearer token for use behind a TLS proxy. */
export interface IssuedIdentity {
  endpoint: string;
  certificate: string;
  authority: string;
  token: string;
  /** Whether the appliance may adopt the organisation; not set on renewal. */
  mayAdopt?: boolean | undefined;
}

export interface EnrolmentServiceDeps {
  store: TransactionStore;
  /** The organisation's certificate authority. */
  authority: CertificateAndKey;
  now(): number;
}

/** Issues identities to appliances. */
export interface EnrolmentService {
  /** Creates a one-time code, valid for 15 minutes. Only its hash is stored. */
  createCode(binding: CodeBinding): Promise<{ code: string; until: number }>;
  /** Throws CallerError for an invalid code or request; nothing changes then. */
  enrol(asked: EnrolmentRequest): Promise<IssuedIdentity>;
  /** Issues a certificate for the next key of an appliance that authenticated with a valid one. Throws CallerError. */
  renew(endpoint: string, shownKeyHash: string, request: string): Promise<IssuedIdentity>;
}

const REFUSALS: Readonly<Record<CodeRefusal, string>> = {
  unknown: sentence("error.enrolment-code-not-found"),
  used: sentence("error.the-enrolment-code-was-already-used"),
  expired: sentence("error.the-enrolment-code-has-expired"),
  "other-endpoint": sentence("error.the-enrolment-code-is-for-another-appliance"),
};
const ADOPTED_BEFORE = sentence(
  "error.the-organisation-already-has-appliances-and-only-the-first-one-can-bring-its-rows",
);

function assertAccepted(refusal: CodeRefusal | null): void {
  if (refusal) throw new CallerError("invalid-value", REFUSALS[refusal]);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The authority's key does not leave this service. */
export function createEnrolmentService({ store, authority, now }: EnrolmentServiceDeps): EnrolmentService {
  const sign = async (request: string, endpoint: string): Promise<IdentityClaim & { answer: IssuedIdentity }> => {
    if (!UUID.test(endpoint)) throw new CallerError("invalid-value", sentence("error.endpoint-must-be-a-uuid"));
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
    async createCode(binding) {
      const code = formatEnrolmentCode(randomBytes(12));
      return { code, ...(await store.transact(() => createEnrolmentCode(code, binding, now()))) };
    },
    async enrol({ code, endpoint, request, mode }) {
      // Nothing is signed without a valid code.
      assertAccepted(await store.read(() => checkEnrolmentCode(code, endpoint, now())));
      if (mode === "adopt" && !(await store.read(() => mayAdopt(endpoint))))
        throw new CallerError("invalid-value", ADOPTED_BEFORE);
      const { answer, ...asking } = await sign(request, endpoint);
      assertAccepted(await store.transact(() => redeemEnrolmentCode(code, asking, now())));
      return { ...answer, mayAdopt: (await store.read(() => getRecord(ADOPTIONS, endpoint))) !== null };
    },
    async renew(endpoint, shownKeyHash, request) {
      const { answer, ...asking } = await sign(request, endpoint);
      const isTaken = await store.transact(() => renewIdentity(asking, shownKeyHash, now()));
      if (!isTaken) throw new CallerError("invalid-value", sentence("error.the-key-does-not-belong-to-this-appliance"));
      return answer;
    },
  };
}
