import { type ComputedOptions, computed, json, text } from "../schema/field.ts";

const TRANSLATIONS = computed("The text in other languages, by BCP 47 tag.", "object", {
  of: text("A translation.", { required: true, max: 10_000 }),
  sometimes: true,
});
const MEMBERS = {
  code: text("Code of the sentence, for translations.", { required: true }),
  params: json("Values of the sentence; one that is a list of {code, params} consists of further sentences.", {
    required: true,
  }),
  translations: TRANSLATIONS,
};

const TEXT_AND_SENTENCE = {
  text: text("English text.", { required: true, max: 10_000 }),
  code: text("Code of the sentence; null for words of a device, a provider or a person."),
  params: json("Values of the sentence; null without a code."),
  translations: TRANSLATIONS,
};

/**
 * A sentence by code and parameters, beside its English text; null where that is in the words of a device or provider.
 * It is filled from the text of `sentenceOf`, if that is given, and otherwise by the hook or the action.
 */
export function sentenceField(what: string, sentenceOf?: string) {
  return computed(`${what} by code and parameters; null for words of a device, a provider or a person.`, "object", {
    of: MEMBERS,
    nullable: true,
    ...(sentenceOf === undefined ? {} : { sentenceOf }),
  });
}

/** The same for a list of texts. */
export function sentencesField(
  what: string,
  options: Pick<ComputedOptions, "nullable" | "sentenceOf" | "unless"> = {},
) {
  return computed(`${what} by code and parameters, beside their texts.`, "array", {
    of: TEXT_AND_SENTENCE,
    ...options,
  });
}
