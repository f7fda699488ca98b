import { LICENSED_TYPES, type LicenceState } from "../../ops/licence.ts";
import { boolean, computed, integer, option, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const COUNT = {
  kind: option("What is counted.", LICENSED_TYPES, { required: true }),
  used: integer("How many are in use: devices that their endpoint's filters license, and regular users.", {
    required: true,
  }),
  limit: integer("How many the licence covers; null = any number."),
};

const STATE = {
  edition: option("community while there is no document: everything is unlimited.", ["community", "licensed"], {
    required: true,
  }),
  isValid: boolean("Nothing is in use that the licence does not cover. No message is ever held back by it.", {
    required: true,
  }),
  id: text("Number of the licence."),
  holder: text("Whose it is."),
  expiresAt: timestamp("Until when it is good; null = for ever."),
  counts: computed("By kind.", "array", { of: COUNT }),
  violations: computed("What it does not cover, in words.", "array", { of: text("One.", { max: 1_000 }) }),
};

const response = { kind: "members", fields: STATE } as const;

const LICENCE_INPUT = { document: text("The document as it was sent.", { required: true, max: 65_536 }) };
const validateLicenceInput = compileBodyValidator(LICENCE_INPUT);

/** The licence of the appliance. own choice: the path */
export const licenceActions: readonly Action[] = [
  {
    method: "get",
    at: "licence",
    doc: "What the licence of the appliance covers, and what is in use.",
    response,
    handle: async ({ needs }) => presentLicence(needs.licence.state()),
  },
  {
    method: "put",
    at: "licence",
    doc: "Takes a signed licence document; who made it must be among those that the settings trust.",
    response,
    accepts: LICENCE_INPUT,
    async handle({ body, needs }) {
      const { document } = validateLicenceInput(body) as { document: string };
      return presentLicence(await needs.licence.install(document));
    },
  },
  {
    method: "delete",
    at: "licence",
    doc: "Does without a licence document again: everything is unlimited.",
    response,
    handle: async ({ needs }) => presentLicence(await needs.licence.remove()),
  },
];

function presentLicence({ edition, isValid, licence, counts, violations }: LicenceState) {
  const { id = null, holder = null, expiresAt = null } = licence ?? {};
  const reasons = violations.map(({ reason }) => reason);
  return jsonResponse({ edition, isValid, id, holder, expiresAt, counts, violations: reasons });
}
