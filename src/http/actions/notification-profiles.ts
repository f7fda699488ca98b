import { notFound } from "../../lib/errors.ts";
import {
  type SerializedSetting,
  serializeSettings,
  updateSetting,
} from "../../notifications/compose/notification-profile-hooks.ts";
import notificationProfiles from "../../resources/profiles/notification-profiles.ts";
import { json as anyJson, boolean, computed, integer, text, uuid } from "../../schema/field.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const SETTING = {
  id: uuid("Id of the extension.", { required: true }),
  name: text("Its name.", { required: true }),
  disabled: boolean("Nothing is sent through it.", { required: true }),
  value: anyJson("What the profile says of it.", { required: true }),
  extension: anyJson("`effectiveConfig` with its defaults, `disabled` here and `globalDisabled` everywhere.", {
    required: true,
  }),
};
const LIST = {
  total: integer("How many there are."),
  partial: boolean("Always false.", { required: true }),
  previous: text("Always null."),
  next: text("Always null."),
  data: computed("Settings of all extensions.", "array", { of: SETTING }),
};
const CHANGE = {
  disabled: boolean("Nothing is sent through it."),
  value: anyJson("What the profile says of it; null for nothing."),
};
const validateChange = compileBodyValidator(CHANGE);

/** What a profile says of each extension, by the extension's id. @source digest `/v1/notification-profiles/{…}/settings` */
export const notificationProfileActions: readonly Action[] = [
  {
    method: "get",
    at: "notification-profiles/{notificationProfileId}/settings",
    doc: "Lists what a profile says of each extension.",
    response: { kind: "members", fields: LIST },
    async handle(request) {
      const data = settingsOf(request);
      return jsonResponse({ total: data.length, partial: false, previous: null, next: null, data });
    },
  },
  {
    method: "get",
    at: "notification-profiles/{notificationProfileId}/settings/{settingId}",
    doc: "What a profile says of one extension.",
    response: { kind: "members", fields: SETTING },
    handle: async (request) => jsonResponse(settingOf(request)),
  },
  {
    method: "put",
    at: "notification-profiles/{notificationProfileId}/settings/{settingId}",
    doc: "Changes what a profile says of one extension.",
    accepts: CHANGE,
    response: { kind: "members", fields: SETTING },
    async handle(request) {
      const { params, needs, by, body } = request;
      const { id } = requireVisibleRow(request, notificationProfiles, params.notificationProfileId ?? "");
      const { disabled } = validateChange(body) as { disabled?: boolean | null };
      await updateSetting(
        needs.store,
        id,
        params.settingId ?? "",
        { disabled: disabled ?? null, value: body.value },
        by,
      );
      return jsonResponse(settingOf(request));
    },
  },
];

function settingsOf(request: ApiRequest): SerializedSetting[] {
  const profile = requireVisibleRow(request, notificationProfiles, request.params.notificationProfileId ?? "");
  return serializeSettings(profile, request.needs.store, request.needs.plugins.profileSchema);
}

function settingOf(request: ApiRequest): SerializedSetting {
  const found = settingsOf(request).find(({ id }) => id === request.params.settingId);
  if (!found) throw notFound();
  return found;
}
