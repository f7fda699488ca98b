import { computed, json, text } from "../schema/field.ts";

const MEMBERS = {
  code: text("Code of the sentence, for translations.", { required: true }),
  params: json("Values of the sentence; one that is a list of {code, params} consists of further sentences.", {
    required: true,
  }),
};

/** A sentence by code and parameters, beside its English text; null where that is in the words of a device or provider. */
export function sentenceField(what: string) {
  return computed(`${what} by code and parameters; null for words of a device, a provider or a person.`, "object", {
    of: MEMBERS,
    nullable: true,
  });
}
