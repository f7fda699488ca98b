import { CallerError } from "../../base/errors.ts";
import type { CertificateReport } from "../../operations/certificate-desk.ts";
import { computed, option, text, timestamp } from "../../schema/field.ts";
import { type Action, type ApiRequest, json } from "../action.ts";
import { bodyCheck } from "./checked-body.ts";

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

const answers = { kind: "members", fields: STATE } as const;

const GIVEN = {
  certificate: text("The certificate and its chain, PEM.", { required: true, ...PEM }),
  key: text("Its key without a password, PEM; it is never shown.", { required: true, ...PEM }),
};
const checkGiven = bodyCheck(GIVEN);

/** The certificate that the API shows. own choice: the path */
export const certificateActions: readonly Action[] = [
  {
    method: "get",
    at: "certificate",
    doc: "Which certificate the API shows, until when, and the appliance's own authority.",
    answers,
    handle: async ({ needs }) => shown(await needs.upkeep.certificate.report()),
  },
  {
    method: "put",
    at: "certificate",
    doc: "Shows a certificate from elsewhere from now on. own choice: keys come by TLS, or from the machine itself, alone.",
    answers,
    accepts: GIVEN,
    async handle(request) {
      const { certificate, key } = checkGiven(request.body) as { certificate: string; key: string };
      requirePrivacy(request);
      return shown(await request.needs.upkeep.certificate.install({ certificate, key }));
    },
  },
  {
    method: "delete",
    at: "certificate",
    doc: "Shows a certificate of the appliance's own authority again.",
    answers,
    handle: async ({ needs }) => shown(await needs.upkeep.certificate.remove()),
  },
];

/** What went over the network as it is was perhaps read by others. */
function requirePrivacy({ secure, address }: ApiRequest): void {
  if (secure || address === null || address === "::1" || address.startsWith("127.")) return;
  throw new CallerError("forbidden", "A key is taken over https alone. On the machine itself: carillon tls install.");
}

function shown({ facts, authority }: CertificateReport) {
  const { origin = null, subject = null, issuer = null, names = [], fingerprint = null } = facts ?? {};
  const validity = {
    validFrom: facts && new Date(facts.validFrom).toISOString(),
    validUntil: facts && new Date(facts.validTo).toISOString(),
  };
  return json({ origin, subject, issuer, names, ...validity, fingerprint, authority });
}
