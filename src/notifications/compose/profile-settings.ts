import { type FieldError, invalidValue } from "../../lib/errors.ts";
import { isJsonObject } from "../../lib/json.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { Field } from "../../schema/field.ts";
import { compileValidator } from "../../schema/validator.ts";

/** Settings of one extension in a notification profile. */
export interface ProfileSetting {
  /** Id of the extension. */
  id: string;
  /** Nothing is sent through the extension. */
  disabled: boolean;
  value: Readonly<Record<string, unknown>>;
}

/** The profile settings that an extension declares. */
export interface ProfileSchema {
  /** The settings by name, for forms. */
  fields: Readonly<Record<string, Field>>;
  /** Errors of the settings, with the field names of the settings; unknown names are errors. */
  validate(value: Readonly<Record<string, unknown>>): FieldError[];
  /** All settings: the valid ones of `value`, defaults for the others. */
  withDefaults(value: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

/** The schema of an extension by its id; null where any setting is allowed. */
export type ProfileSchemaLookup = (extensionId: string) => ProfileSchema | null;

/** Compiles the profile settings of an extension. */
export function compileProfileSchema(fields: Readonly<Record<string, Field>>): ProfileSchema {
  const checker = compileValidator(fields);
  const validate = (value: Readonly<Record<string, unknown>>): FieldError[] => {
    const unknown = Object.keys(value).filter((name) => !Object.hasOwn(fields, name));
    const errors = unknown.map((field): FieldError => {
      return {
        field,
        type: "invalid-value",
        message: `Field ${field} is not valid. ${sentence("field.the-setting-does-not-exist")}`,
      };
    });
    return [...errors, ...checker.validate(value, "create").faults];
  };
  return {
    fields,
    validate,
    withDefaults(value) {
      // A value that an earlier version of the extension accepted may be invalid now.
      const bad = new Set(validate(value).map(({ field }) => field?.split(/[.[]/)[0]));
      const good = Object.entries(value).filter(([name]) => !bad.has(name));
      return checker.validate(Object.fromEntries(good), "create").values;
    },
  };
}

const OVERRIDES = "extensionSettingsOverrides";

/**
 * The settings that a message is sent with: those of its profile (null for none) with the sender's overrides per
 * extension id. Throws CallerError for overrides that are not objects.
 */
export function mergeExtensionSettings(
  profile: readonly ProfileSetting[] | null,
  overrides: unknown,
): ProfileSetting[] {
  const settings = new Map((profile ?? []).map((setting) => [setting.id.toLowerCase(), setting]));
  if (overrides === null || overrides === undefined) return [...settings.values()];
  if (!isJsonObject(overrides))
    throw invalidValue(OVERRIDES, sentence("field.must-be-an-object-keyed-by-extension-id"));
  for (const [given, value] of Object.entries(overrides)) {
    if (!isJsonObject(value))
      throw invalidValue(OVERRIDES, sentence("field.the-settings-of-an-extension-must-be-an-object"));
    const id = given.toLowerCase();
    const before = settings.get(id);
    settings.set(id, { id, disabled: before?.disabled ?? false, value: { ...before?.value, ...value } });
  }
  return [...settings.values()];
}
