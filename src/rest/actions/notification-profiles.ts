import { notFound } from "../../base/errors.ts";
import { changeSetting, type ShownSetting, shownSettings } from "../../broadcast/profile-behaviour.ts";
import notificationProfiles from "../../resources/profiles/notification-profiles.ts";
import { json as anyJson, boolean, computed, integer, text, uuid } from "../../schema/field.ts";
import { type Action, type ApiRequest, json, visibleRow } from "../action.ts";
import { bodyCheck } from "./checked-body.ts";

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
const checkChange = bodyCheck(CHANGE);

/** What a profile says of each extension, by the extension's id. @source digest `/v1/notification-profiles/{…}/settings` */
export const notificationProfileActions: readonly Action[] = [
  {
    method: "get",
    at: "notification-profiles/{notificationProfileId}/settings",
    doc: "Lists what a profile says of each extension.",
    answers: { kind: "members", fields: LIST },
    async handle(request) {
      const data = settingsOf(request);
      return json({ total: data.length, partial: false, previous: null, next: null, data });
    },
  },
  {
    method: "get",
    at: "notification-profiles/{notificationProfileId}/settings/{settingId}",
    doc: "What a profile says of one extension.",
    answers: { kind: "members", fields: SETTING },
    handle: async (request) => json(settingOf(request)),
  },
  {
    method: "put",
    at: "notification-profiles/{notificationProfileId}/settings/{settingId}",
    doc: "Changes what a profile says of one extension.",
    accepts: CHANGE,
    answers: { kind: "members", fields: SETTING },
    async handle(request) {
      const { params, needs, by, body } = request;
      const { id } = visibleRow(request, notificationProfiles, params.notificationProfileId ?? "");
      const { disabled } = checkChange(body) as { disabled?: boolean | null };
      await changeSetting(
        needs.store,
        id,
        params.settingId ?? "",
        { disabled: disabled ?? null, value: body.value },
        by,
      );
      return json(settingOf(request));
    },
  },
];

function settingsOf(request: ApiRequest): ShownSetting[] {
  const profile = visibleRow(request, notificationProfiles, request.params.notificationProfileId ?? "");
  return shownSettings(profile, request.needs.store, request.needs.plugins.profileSchema);
}

function settingOf(request: ApiRequest): ShownSetting {
  const found = settingsOf(request).find(({ id }) => id === request.params.settingId);
  if (!found) throw notFound();
  return found;
}
