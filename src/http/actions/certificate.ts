import { CallerError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { CertificateReport } from "../../ops/tls/certificate-service.ts";
import { computed, option, text, timestamp } from "../../schema/field.ts";
import { type Action, type ApiRequest, jsonResponse } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const PEM = { max: 262_144 };

const STATE = {
  origin: option(
    "own: issued by the CA of the appliance; installed: installed by an administrator; null before TLS was first used.",
    ["own", "installed"],
  ),
  subject: text("Subject.", PEM),
  issuer: text("Issuer.", PEM),
  names: computed("Host names and IP addresses of the certificate.", "array", {
    of: text("A host name or IP address."),
  }),
  validFrom: timestamp("Start of validity."),
  validUntil: timestamp("End of validity."),
  fingerprint: text("SHA-256 fingerprint, hex with colons."),
  authority: text("CA certificate of the appliance, PEM, to be installed in browsers.", {
    required: true,
    ...PEM,
  }),
};

const response = { kind: "members", fields: STATE } as const;

const CERTIFICATE_INPUT = {
  certificate: text("Certificate with its chain, PEM.", { required: true, ...PEM }),
  key: text("Private key without a passphrase, PEM; never returned.", { required: true, ...PEM }),
};
const validateCertificateInput = compileBodyValidator(CERTIFICATE_INPUT);

/** The TLS certificate of the API. */
export const certificateActions: readonly Action[] = [
  {
    method: "get",
    at: "certificate",
    doc: "Returns the TLS certificate of the API, its validity and the CA of the appliance.",
    response,
    handle: async ({ deps }) => presentCertificate(await deps.maintenance.certificate.report()),
  },
  {
    method: "put",
    at: "certificate",
    permission: "super",
    doc: "Installs a TLS certificate. Keys are accepted only over TLS or from the local machine.",
    response,
    accepts: CERTIFICATE_INPUT,
    async handle(request) {
      const { certificate, key } = validateCertificateInput(request.body) as { certificate: string; key: string };
      assertEncryptedConnection(request);
      return presentCertificate(await request.deps.maintenance.certificate.install({ certificate, key }));
    },
  },
  {
    method: "delete",
    at: "certificate",
    permission: "super",
    doc: "Removes the installed certificate; the appliance uses a certificate of the built-in CA again.",
    response,
    handle: async ({ deps }) => presentCertificate(await deps.maintenance.certificate.remove()),
  },
];

/** A key sent over an unencrypted connection may have been read by others. */
function assertEncryptedConnection({ secure, address }: ApiRequest): void {
  if (secure || address === null || address === "::1" || address.startsWith("127.")) return;
  throw new CallerError("forbidden", sentence("auth.a-private-key-must-be-sent-over-https-on-the"));
}

function presentCertificate({ facts, authority }: CertificateReport) {
  const { origin = null, subject = null, issuer = null, names = [], fingerprint = null } = facts ?? {};
  const validity = {
    validFrom: facts && new Date(facts.validFrom).toISOString(),
    validUntil: facts && new Date(facts.validTo).toISOString(),
  };
  return jsonResponse({ origin, subject, issuer, names, ...validity, fingerprint, authority });
}
