import { invalidValue } from "../base/errors.ts";

/** What a notification profile holds for one extension. */
export interface ProfileSetting {
  /** Id of the extension. */
  id: string;
  /** Nothing is sent through the extension. */
  disabled: boolean;
  value: Readonly<Record<string, unknown>>;
}

const OVERRIDES = "extensionSettingsOverrides";

/**
 * The settings that a message is sent with: those of its profile (null for none), in which the sender's values per
 * extension id replace single ones. Throws CallerError for overrides that are no objects.
 */
export function extensionSettings(profile: readonly ProfileSetting[] | null, overrides: unknown): ProfileSetting[] {
  const settings = new Map((profile ?? []).map((setting) => [setting.id.toLowerCase(), setting]));
  if (overrides === null || overrides === undefined) return [...settings.values()];
  if (!isObject(overrides)) throw invalidValue(OVERRIDES, "An object by extension id is expected.");
  for (const [given, value] of Object.entries(overrides)) {
    if (!isObject(value)) throw invalidValue(OVERRIDES, "The settings of an extension are an object.");
    const id = given.toLowerCase();
    const before = settings.get(id);
    settings.set(id, { id, disabled: before?.disabled ?? false, value: { ...before?.value, ...value } });
  }
  return [...settings.values()];
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
