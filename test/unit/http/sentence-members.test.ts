import { expect, it } from "vitest";
import { addSentences } from "../../../src/http/sentence-members.ts";
import { createSentenceRegistry } from "../../../src/lib/sentences/registry.ts";
import { sentence } from "../../../src/lib/sentences/sentences.ts";
import { sentenceField, sentencesField } from "../../../src/resources/sentence-field.ts";
import { computed, text } from "../../../src/schema/field.ts";

const ROW = { reason: text("Reason."), reasonSentence: sentenceField("Reason", "reason") };
const FIELDS = {
  ...ROW,
  rows: computed("Rows.", "array", { of: ROW }),
  health: computed("Health.", "object", {
    of: { reasonSentences: sentencesField("Reasons", { sentenceOf: "reasons" }) },
  }),
  names: computed("Names.", "array", { of: text("Name.") }),
};

it("fills sentences beside texts, also within lists and objects; other words have none", () => {
  const reason = sentence("link.closed", { code: 1006 });
  const members = {
    reason,
    rows: [{ reason: "Tür klemmt" }, { reason: null }],
    health: { reasons: [reason] },
    names: ["x"],
  };
  const read = { code: "link.closed", params: { code: "1006" } };
  expect(addSentences(FIELDS, members, createSentenceRegistry())).toEqual({
    ...members,
    reasonSentence: read,
    rows: [
      { reason: "Tür klemmt", reasonSentence: null },
      { reason: null, reasonSentence: null },
    ],
    health: { reasons: [reason], reasonSentences: [{ text: reason, ...read }] },
  });
  expect(addSentences(FIELDS, { reason: null, rows: [], health: null }, createSentenceRegistry())).toEqual({
    ...{ reason: null, rows: [], health: null, reasonSentence: null, names: undefined },
  });
});
