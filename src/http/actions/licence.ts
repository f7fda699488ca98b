import type { SentenceReader } from "../../lib/sentences/registry.ts";
import { LICENSED_TYPES, type LicenceState } from "../../ops/licence.ts";
import { sentencesField } from "../../resources/sentence-field.ts";
import { boolean, computed, integer, option, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";
import { addSentences } from "../sentence-members.ts";
import { compileBodyValidator } from "./body-validator.ts";

const COUNT = {
  kind: option("Licensed type.", LICENSED_TYPES, { required: true }),
  used: integer("Number in use: devices selected by the licence filters of their endpoint, and regular users.", {
    required: true,
  }),
  limit: integer("Number covered by the licence; null means unlimited."),
};

const STATE = {
  edition: option("community: no licence document, everything is unlimited.", ["community", "licensed"], {
    required: true,
  }),
  isValid: boolean("The licence covers everything in use. Messages are sent even if it does not.", {
    required: true,
  }),
  id: text("Licence number."),
  holder: text("Licensee."),
  expiresAt: timestamp("Expiry time; null means never."),
  counts: computed("Usage by type.", "array", { of: COUNT }),
  violations: computed("Licence violations.", "array", { of: text("A violation.", { max: 1_000 }) }),
  violationSentences: sentencesField("Violations", { sentenceOf: "violations" }),
};

const response = { kind: "members", fields: STATE } as const;

const LICENCE_INPUT = { document: text("The licence document as received.", { required: true, max: 65_536 }) };
const validateLicenceInput = compileBodyValidator(LICENCE_INPUT);

/** The licence of the appliance. */
export const licenceActions: readonly Action[] = [
  {
    method: "get",
    at: "licence",
    doc: "Returns the licence of the appliance and its usage.",
    response,
    handle: async ({ deps }) => presentLicence(deps.licence.state(), deps.plugins.sentences),
  },
  {
    method: "put",
    at: "licence",
    permission: "super",
    doc: "Installs a signed licence document. The signer must be trusted in the settings.",
    response,
    accepts: LICENCE_INPUT,
    async handle({ body, deps }) {
      const { document } = validateLicenceInput(body) as { document: string };
      return presentLicence(await deps.licence.install(document), deps.plugins.sentences);
    },
  },
  {
    method: "delete",
    at: "licence",
    permission: "super",
    doc: "Removes the licence document; everything is unlimited.",
    response,
    handle: async ({ deps }) => presentLicence(await deps.licence.remove(), deps.plugins.sentences),
  },
];

function presentLicence({ edition, isValid, licence, counts, violations }: LicenceState, sentences: SentenceReader) {
  const { id = null, holder = null, expiresAt = null } = licence ?? {};
  const reasons = violations.map(({ reason }) => reason);
  const state = { edition, isValid, id, holder, expiresAt, counts, violations: reasons };
  return jsonResponse(addSentences(STATE, state, sentences));
}
