import { notFound } from "../../lib/errors.ts";
import {
  type SerializedSetting,
  serializeSettings,
  updateSetting,
} from "../../notifications/compose/notification-profile-hooks.ts";
import notificationProfiles from "../../resources/profiles/notification-profiles.ts";
import { json as anyJson, boolean, computed, text, uuid } from "../../schema/field.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";
import { COMPUTED_PAGE_MEMBERS, COMPUTED_PAGE_QUERY, computedPage } from "./computed-page.ts";

const SETTING = {
  id: uuid("Id of the extension.", { required: true }),
  name: text("Name.", { required: true }),
  disabled: boolean("Disables sending through the extension.", { required: true }),
  value: anyJson("Settings of the profile for the extension.", { required: true }),
  extension: anyJson("`effectiveConfig` including defaults, `disabled` on this appliance and `globalDisabled`.", {
    required: true,
  }),
};
const LIST = {
  ...COMPUTED_PAGE_MEMBERS,
  data: computed("Settings of all extensions.", "array", { of: SETTING }),
};
const CHANGE = {
  disabled: boolean("Disables sending through the extension."),
  value: anyJson("Settings of the profile for the extension; null removes them."),
};
const validateChange = compileBodyValidator(CHANGE);

/**
 * Settings of a notification profile by extension id.
 * @source docs/decisions/0042-api-contract.md, `/v1/notification-profiles/{…}/settings`
 */
export const notificationProfileActions: readonly Action[] = [
  {
    method: "get",
    at: "notification-profiles/{notificationProfileId}/settings",
    doc: "Lists the settings of a profile for all extensions.",
    response: { kind: "members", fields: LIST },
    query: COMPUTED_PAGE_QUERY,
    async handle(request) {
      const data = settingsOf(request);
      return jsonResponse(computedPage(data, request.query));
    },
  },
  {
    method: "get",
    at: "notification-profiles/{notificationProfileId}/settings/{settingId}",
    doc: "Returns the settings of a profile for one extension.",
    response: { kind: "members", fields: SETTING },
    handle: async (request) => jsonResponse(settingOf(request)),
  },
  {
    method: "put",
    at: "notification-profiles/{notificationProfileId}/settings/{settingId}",
    doc: "Updates the settings of a profile for one extension.",
    accepts: CHANGE,
    response: { kind: "members", fields: SETTING },
    async handle(request) {
      const { params, deps, by, body } = request;
      const { id } = requireVisibleRow(request, notificationProfiles, params.notificationProfileId ?? "");
      const { disabled } = validateChange(body) as { disabled?: boolean | null };
      await updateSetting(
        deps.store,
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
  return serializeSettings(profile, request.deps.store, request.deps.plugins.profileSchema);
}

function settingOf(request: ApiRequest): SerializedSetting {
  const found = settingsOf(request).find(({ id }) => id === request.params.settingId);
  if (!found) throw notFound();
  return found;
}
