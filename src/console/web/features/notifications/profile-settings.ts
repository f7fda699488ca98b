import type { JsonSchema } from "../../api/client.ts";
import type { Translator } from "../../i18n/translator.ts";
import { type FormField, type FormValues, fieldsOf } from "../../ui/form/form-fields.ts";

/** Settings that name a row, and where it is chosen from. */
const ROWS: Readonly<Record<string, Pick<FormField, "kind" | "from">>> = {
  queuedFailureRecipientGroup: { kind: "row", from: "device-groups" },
};

/** Fields of a channel, with translated labels where there are any. */
export function settingFields(schema: JsonSchema | undefined, { name }: Pick<Translator, "name">): FormField[] {
  return fieldsOf(schema ?? {}).map(({ choices, hint, hintSentence, ...field }) => {
    // A plugin names its own settings.
    const label = field.label ?? name("setting", field.name);
    const options = choices?.map(({ value }) => ({ value, label: name("setting-value", value) }));
    // A channel of somebody else's has no words of ours: its own hint says what it is for.
    const own = label === field.name && hint ? { hint, ...(hintSentence ? { hintSentence } : {}) } : {};
    return { ...field, ...ROWS[field.name], label, ...own, ...(options ? { choices: options } : {}) };
  });
}

/** Request body of a changed form: whether the channel is used, and its settings; empty fields take the default. */
export function settingBody({ disabled, ...changed }: FormValues, before: unknown): Record<string, unknown> {
  const said = Object.entries({ ...(before as FormValues), ...changed }).filter(([, value]) => value !== null);
  return {
    ...(disabled === undefined ? {} : { disabled }),
    ...(Object.keys(changed).length === 0 ? {} : { value: Object.fromEntries(said) }),
  };
}
