import { ConflictError, type FieldError, notFound, validationError } from "../../lib/errors.ts";
import { isUuid } from "../../lib/ids.ts";
import { isJsonObject } from "../../lib/json.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import deviceGroups from "../../resources/devices/device-groups.ts";
import extensions from "../../resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/on-premises-extension.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import notificationProfiles from "../../resources/profiles/notification-profiles.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { ActorContext, PresentContext, ResourceHooks, Store, StoreReader } from "../../store/store.ts";
import { buildVisibilitySql } from "../../store/visibility-sql.ts";
import type { ProfileSchema, ProfileSchemaLookup, ProfileSetting } from "./profile-settings.ts";
import { ONPREM_SCHEMA, QUEUED_FAILURE_GROUP, queuedFailureGroupOf } from "./sending-profile.ts";

/**
 * Hooks of profiles: validate the settings of on-premises devices and of plugins that declare a schema, entry by entry;
 * keep the default profile. Settings of other extensions are kept as given, and so are those of a plugin that no longer
 * fit until they are written again.
 */
export function notificationProfileHooks(schemaOf: ProfileSchemaLookup): ResourceHooks<typeof notificationProfiles> {
  return {
    beforeWrite({ before, after }, tx) {
      if (!after) {
        if (before?.default) throw new ConflictError(sentence("error.the-default-profile-cannot-be-deleted"));
        return;
      }
      if (JSON.stringify(after.settings) === JSON.stringify(before?.settings)) return;
      after.settings = checkedSettings(after.settings ?? [], before ? storedSettingsOf(before) : [], tx, schemaOf);
    },
    present(rows, context) {
      if (context.query.includeMessageTemplates !== true) return rows.map(() => ({}));
      const found = templatesOf(rows, context);
      return rows.map(({ pk }) => ({ messageTemplates: found.get(pk) ?? [] }));
    },
  };
}

/** The templates that use each profile, as far as the caller may see them; one query per page. */
function templatesOf(rows: readonly ProfileRow[], { reader, scope }: PresentContext) {
  const visibility = buildVisibilitySql(scope.visible(messageTemplates));
  const lines = reader.all<{ profile: number; id: string; name: string }>(
    `SELECT t.notification_profile_pk AS profile, t.id, t.name FROM message_templates t
     WHERE t.notification_profile_pk IN (SELECT value FROM json_each(?)) AND ${visibility.sql} ORDER BY t.name, t.pk`,
    JSON.stringify(rows.map(({ pk }) => pk)),
    ...visibility.params,
  );
  const found = new Map<number, { id: string; name: string }[]>();
  for (const { profile, ...template } of lines) found.set(profile, [...(found.get(profile) ?? []), template]);
  return found;
}

function checkedSettings(
  given: unknown,
  before: readonly ProfileSetting[],
  reader: StoreReader,
  schemaOf: ProfileSchemaLookup,
): ProfileSetting[] {
  const entries = isJsonObject(given) ? Object.entries(given).map(([id, entry]) => keyedEntry(id, entry)) : given;
  if (!Array.isArray(entries))
    throw validationError([invalidField("settings", sentence("field.must-be-a-list-or-an-object-by-id"))]);
  const errors: FieldError[] = [];
  const found = new Map<string, ProfileSetting>();
  entries.forEach((entry: unknown, at) => {
    const name = entries === given ? `settings[${at}]` : `settings.${(entry as { id: string }).id.slice(0, 40)}`;
    if (!isJsonObject(entry)) {
      errors.push(invalidField(name, sentence("field.must-be-an-object")));
      return;
    }
    const { id, disabled = false, value = {} } = entry;
    const key = isUuid(id) ? id.toLowerCase() : "";
    if (key === "" || !reader.get(extensions, key))
      errors.push(invalidField(`${name}.id`, sentence("field.must-be-the-id-of-an-extension")));
    else if (found.has(key))
      errors.push(invalidField(`${name}.id`, sentence("field.an-extension-must-have-only-one-entry")));
    if (typeof disabled !== "boolean")
      errors.push(invalidField(`${name}.disabled`, sentence("field.must-be-true-or-false")));
    if (!isJsonObject(value ?? {})) {
      errors.push(invalidField(`${name}.value`, sentence("field.must-be-an-object")));
      return;
    }
    const setting = { id: key, disabled: disabled === true, value: (value ?? {}) as Record<string, unknown> };
    const known = before.find(({ id }) => id === key)?.value;
    const isNew = JSON.stringify(known) !== JSON.stringify(setting.value);
    for (const error of (isNew && schemaFor(key, schemaOf)?.validate(setting.value)) || []) {
      const field = `${name}.value.${error.field}`;
      errors.push({ ...error, field, message: error.message.replace(/^Field \S+/, `Field ${field}`) });
    }
    const group = key === ONPREM_EXTENSION_ID && isNew ? queuedFailureGroupOf(setting.value) : null;
    if (group !== null && !reader.get(deviceGroups, group))
      errors.push(invalidField(`${name}.value.${QUEUED_FAILURE_GROUP}`, sentence("field.device-group-not-found")));
    found.set(key, setting);
  });
  if (errors.length > 0) throw validationError(errors);
  return [...found.values()];
}

/** Members of an entry as it is sent, and as it is shown. */
const ENTRY_MEMBERS: ReadonlySet<string> = new Set(["id", "name", "disabled", "value", "extension"]);

/** The entry of an extension in an object by extension id: `{disabled, value}`, or the value itself. */
function keyedEntry(id: string, entry: unknown): Record<string, unknown> {
  if (!isJsonObject(entry)) return { id, value: entry };
  const isEntry =
    ("value" in entry || "disabled" in entry) && Object.keys(entry).every((member) => ENTRY_MEMBERS.has(member));
  return isEntry ? { ...entry, id } : { id, value: entry };
}

/** The profile schema of an extension; null where any setting is allowed. */
function schemaFor(extensionId: string, schemaOf: ProfileSchemaLookup): ProfileSchema | null {
  return extensionId === ONPREM_EXTENSION_ID ? ONPREM_SCHEMA : schemaOf(extensionId);
}

function invalidField(field: string, detail: string): FieldError {
  return { field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` };
}

type ProfileRow = RowOf<typeof notificationProfiles>;

/** The settings of a profile as stored. */
export function storedSettingsOf({ settings }: Pick<ProfileRow, "settings">): ProfileSetting[] {
  return (settings ?? []) as ProfileSetting[];
}

/** The profile that a message names, or the default one; null where neither exists. */
export function findProfile(reader: StoreReader, id: string | null | undefined): ProfileRow | null {
  if (id) return reader.get(notificationProfiles, id);
  return reader.find(notificationProfiles, { default: true }, 1)[0] ?? null;
}

/** The profile fields by extension id, without the extensions that have none. */
export function profileFieldsByExtension(
  reader: StoreReader,
  schemaOf: ProfileSchemaLookup,
): Record<string, ProfileSchema["fields"]> {
  const schemas = reader.find(extensions, {}).map(({ id }) => [id, schemaFor(id, schemaOf)?.fields] as const);
  return Object.fromEntries(schemas.flatMap(([id, fields]) => (fields ? [[id, fields] as const] : [])));
}

/** One extension in a profile, as the API shows it. */
export interface SerializedSetting extends ProfileSetting {
  name: string;
  /** `effectiveConfig`: the settings used for sending, defaults included. */
  extension: { disabled: boolean; effectiveConfig: Record<string, unknown>; globalDisabled: boolean };
}

/** The entry of every extension in a profile, whether or not the profile stores one. */
export function serializeSettings(
  profile: ProfileRow,
  reader: StoreReader,
  schemaOf: ProfileSchemaLookup,
): SerializedSetting[] {
  const stored = new Map(storedSettingsOf(profile).map((setting) => [setting.id, setting]));
  return reader.find(extensions, {}).map(({ id, name, disabled: globalDisabled }) => {
    const { value, disabled } = stored.get(id) ?? { value: {}, disabled: false };
    const effectiveConfig = schemaFor(id, schemaOf)?.withDefaults(value) ?? { ...value };
    return { id, name, disabled, value, extension: { disabled, effectiveConfig, globalDisabled } };
  });
}

/** Changes one extension's settings in a profile. Throws CallerError. */
export async function updateSetting(
  store: Store,
  profileId: string,
  extensionId: string,
  change: { disabled?: boolean | null; value?: unknown },
  by: ActorContext,
): Promise<void> {
  await store.write((tx) => {
    const profile = tx.get(notificationProfiles, profileId, by.scope);
    if (!profile || !tx.get(extensions, extensionId)) throw notFound();
    const others = storedSettingsOf(profile).filter(({ id }) => id !== extensionId);
    const before = storedSettingsOf(profile).find(({ id }) => id === extensionId);
    const setting = {
      id: extensionId,
      disabled: change.disabled ?? before?.disabled ?? false,
      value: change.value === undefined ? (before?.value ?? {}) : (change.value ?? {}),
    };
    tx.update(notificationProfiles, profileId, { settings: [...others, setting] }, by);
  });
}
