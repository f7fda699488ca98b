import { boolean, computed, file, integer, json, many, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { ALERT_TONE_NAMES } from "./alert-tones.ts";
import { ALL_CLEAR_FIELDS } from "./all-clear-fields.ts";
import { AUDIO_TYPES, IMAGE_TYPES } from "./media-types.ts";
import { MESSAGE_PRIORITIES, TTS_SPEEDS, TTS_TYPES, UNFILLED_VARIABLES_POLICIES } from "./message-options.ts";
import { CUSTOMIZABLE_FIELDS, customizableFlag, customizationFlags, displayFlag } from "./template-customization.ts";

/**
 * Prepared messages.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0013-other-resources.md;
 * docs/decisions/0042-api-contract.md, `/v1/message-templates`
 */
export default defineResource({
  name: "message-templates",
  doc: "A message prepared for sending: text, audio, image, recipients, and which of these a sender may change.",
  paths: [{ at: "message-templates" }],
  idParam: "messageTemplateId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  clone: {},
  fields: {
    name: text("Name of the template.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Visible in the domains below the template's domain.", { default: false }),
    subject: text("Subject of the message.", { required: true, min: 1, max: 255 }),
    body: text("Body of the message.", { max: 10_000 }),
    confirmationRequestId: ref("Confirmation request with the possible answers.", "confirmation-requests", {
      embed: "confirmationRequest",
    }),
    distributionListIds: many("Lists whose users receive the message.", "distribution-lists", {
      embed: "distributionLists",
      dependents: "message-template",
    }),
    userIds: many("Users who receive the message.", "users", { embed: "users" }),
    deviceGroupIds: many("Device groups that play and display the message.", "device-groups", {
      embed: "deviceGroups",
      dependents: "message-template",
    }),
    areaOfInterestIds: many("Areas; users inside when it is sent receive the message.", "areas-of-interest", {
      embed: "areasOfInterest",
    }),
    collaborationGroupIds: many("Collaboration groups that receive the message.", "collaboration-groups", {
      embed: "collaborationGroups",
    }),
    incidentPlanId: ref("Incident plan; sending the message starts an incident of it.", "incident-plans", {
      embed: "incidentPlan",
    }),
    audio: file("Recording played after the alert tone.", AUDIO_TYPES),
    image: file("Image displayed with the text.", IMAGE_TYPES),
    imageMimeType: computed("Content type of the image; null without one.", "text", { nullable: true }),
    imageAltText: text("Alternative text of the image.", { max: 140 }),
    audioSize: computed("Size of the recording in bytes, for older clients.", "integer"),
    imageSize: computed("Size of the image in bytes, for older clients.", "integer"),
    audioHash: computed("SHA-256 of the recording, hex, for older clients.", "text", { nullable: true }),
    imageHash: computed("SHA-256 of the image, hex, for older clients.", "text", { nullable: true }),
    alertTone: option("Alert tone at the start of the message.", ALERT_TONE_NAMES, { default: "default" }),
    ttsType: option("Part of the message that is spoken.", TTS_TYPES, { default: "none" }),
    ttsVoiceId: ref("Voice used for speech.", "tts-voices", { embed: "voice" }),
    ttsCustomContent: text(
      "Spoken text for custom-text; a tag such as [de-DE] switches the language. For custom-ssml, an SSML document without references to files or URLs. At most 10000 characters.",
      {
        max: 10_000,
      },
    ),
    ttsSpeed: option("Speech rate.", TTS_SPEEDS, { default: "normal" }),
    expiration: integer(
      "Time from sending until displays are cleared and answers are no longer accepted; null for never.",
      {
        min: 1,
        unit: "s",
      },
    ),
    priority: option("Priority of the message.", MESSAGE_PRIORITIES, { default: "normal" }),
    ...ALL_CLEAR_FIELDS,
    unfilledVariablesPolicy: option(
      "What happens to a user's message in which a `{{name}}` placeholder has no value: it is sent without the placeholder, with a warning, or refused. Messages of bells, scenarios, inputs and alarms are always sent.",
      UNFILLED_VARIABLES_POLICIES,
      { default: "remove" },
    ),
    metadata: json("Free-form data for clients."),
    metadataCustomizable: customizableFlag("metadata"),
    followUp: boolean("Offered only as a follow-up to an earlier notification.", { default: false }),
    optOut: boolean(
      "Recipients may opt out of further messages. Critical messages and their follow-ups, messages of an incident and all-clears cannot be declined.",
      { default: false },
    ),
    notificationProfileId: ref("Notification profile with the settings per channel.", "notification-profiles", {
      embed: "notificationProfile",
    }),
    inferredMessageType: computed("Text, Audio or TextAndAudio, with Image appended.", "text"),
    cancelNotificationsType: option(
      "Active messages of the same domain to cancel when it is sent. A drill cancels only drills; an emergency is cancelled only by an emergency or an all-clear.",
      ["none", "specific", "all"],
      { default: "none" },
    ),
    cancelNotificationsTypeDisplay: displayFlag("cancelNotificationsType"),
    messageTemplateCancellationIds: many(
      "Templates whose messages are cancelled, for `specific`. Always returned.",
      "message-templates",
    ),
    syncId: computed("Replication marker; equal on both sides once the row has been replicated.", "text", {
      nullable: true,
    }),
    ...customizationFlags(CUSTOMIZABLE_FIELDS),
  },
});
