import { CallerError } from "../../lib/errors.ts";
import type { CertificateReport } from "../../ops/tls/certificate-service.ts";
import { computed, option, text, timestamp } from "../../schema/field.ts";
import { type Action, type ApiRequest, jsonResponse } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const PEM = { max: 262_144 };

const STATE = {
  origin: option("By the appliance's own authority, or installed; null before it has served by TLS.", [
    "own",
    "installed",
  ]),
  subject: text("Whom it names.", PEM),
  issuer: text("Who signed it.", PEM),
  names: computed("Host names and addresses that it is good for.", "array", { of: text("One.") }),
  validFrom: timestamp("Since when it is good."),
  validUntil: timestamp("Until when."),
  fingerprint: text("Its SHA-256, in hexadecimal with colons."),
  authority: text("Certificate of the own authority in PEM, which browsers are given once to trust it.", {
    required: true,
    ...PEM,
  }),
};

const response = { kind: "members", fields: STATE } as const;

const CERTIFICATE_INPUT = {
  certificate: text("The certificate and its chain, PEM.", { required: true, ...PEM }),
  key: text("Its key without a password, PEM; it is never shown.", { required: true, ...PEM }),
};
const validateCertificateInput = compileBodyValidator(CERTIFICATE_INPUT);

/** The certificate that the API shows. own choice: the path */
export const certificateActions: readonly Action[] = [
  {
    method: "get",
    at: "certificate",
    doc: "Which certificate the API shows, until when, and the appliance's own authority.",
    response,
    handle: async ({ needs }) => presentCertificate(await needs.maintenance.certificate.report()),
  },
  {
    method: "put",
    at: "certificate",
    doc: "Shows a certificate from elsewhere from now on. own choice: keys come by TLS, or from the machine itself, alone.",
    response,
    accepts: CERTIFICATE_INPUT,
    async handle(request) {
      const { certificate, key } = validateCertificateInput(request.body) as { certificate: string; key: string };
      assertEncryptedConnection(request);
      return presentCertificate(await request.needs.maintenance.certificate.install({ certificate, key }));
    },
  },
  {
    method: "delete",
    at: "certificate",
    doc: "Shows a certificate of the appliance's own authority again.",
    response,
    handle: async ({ needs }) => presentCertificate(await needs.maintenance.certificate.remove()),
  },
];

/** What went over the network as it is was perhaps read by others. */
function assertEncryptedConnection({ secure, address }: ApiRequest): void {
  if (secure || address === null || address === "::1" || address.startsWith("127.")) return;
  throw new CallerError("forbidden", "A key is taken over https alone. On the machine itself: carillon tls install.");
}

function presentCertificate({ facts, authority }: CertificateReport) {
  const { origin = null, subject = null, issuer = null, names = [], fingerprint = null } = facts ?? {};
  const validity = {
    validFrom: facts && new Date(facts.validFrom).toISOString(),
    validUntil: facts && new Date(facts.validTo).toISOString(),
  };
  return jsonResponse({ origin, subject, issuer, names, ...validity, fingerprint, authority });
}
