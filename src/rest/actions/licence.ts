import { LICENSED_KINDS, type LicenceState } from "../../operations/licence.ts";
import { boolean, computed, integer, option, text, timestamp } from "../../schema/field.ts";
import { type Action, json } from "../action.ts";
import { bodyCheck } from "./checked-body.ts";

const COUNT = {
  kind: option("What is counted.", LICENSED_KINDS, { required: true }),
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

const answers = { kind: "members", fields: STATE } as const;

const GIVEN = { document: text("The document as it was sent.", { required: true, max: 65_536 }) };
const checkGiven = bodyCheck(GIVEN);

/** The licence of the appliance. own choice: the path */
export const licenceActions: readonly Action[] = [
  {
    method: "get",
    at: "licence",
    doc: "What the licence of the appliance covers, and what is in use.",
    answers,
    handle: async ({ needs }) => shown(needs.licence.state()),
  },
  {
    method: "put",
    at: "licence",
    doc: "Takes a signed licence document; who made it must be among those that the settings trust.",
    answers,
    accepts: GIVEN,
    async handle({ body, needs }) {
      const { document } = checkGiven(body) as { document: string };
      return shown(await needs.licence.install(document));
    },
  },
  {
    method: "delete",
    at: "licence",
    doc: "Does without a licence document again: everything is unlimited.",
    answers,
    handle: async ({ needs }) => shown(await needs.licence.remove()),
  },
];

function shown({ edition, isValid, licence, counts, violations }: LicenceState) {
  const { id = null, holder = null, expiresAt = null } = licence ?? {};
  const reasons = violations.map(({ reason }) => reason);
  return json({ edition, isValid, id, holder, expiresAt, counts, violations: reasons });
}
