import { boolean, computed, file, integer, json, many, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { ALERT_TONE_NAMES } from "./alert-tones.ts";
import { ALL_CLEAR_FIELDS } from "./all-clear-fields.ts";
import { AUDIO_TYPES, IMAGE_TYPES } from "./media-types.ts";
import { MESSAGE_PRIORITIES, TTS_SPEEDS, TTS_TYPES } from "./message-options.ts";
import { CUSTOMIZABLE_FIELDS, customizableFlag, customizationFlags, displayFlag } from "./template-customization.ts";

/** Messages made ready for sending. @source service-api.md, Message template; decisions.md 8 and 13; digest `/v1/message-templates` */
export default defineResource({
  name: "message-templates",
  doc: "A message made ready for sending: words, sound, picture, recipients, and what a sender may change of them.",
  paths: [{ at: "message-templates" }],
  idParam: "messageTemplateId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  clone: {},
  fields: {
    name: text("What people call the template.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Domains below the template's own see it too.", { default: false }),
    subject: text("First line of the message.", { required: true, min: 1, max: 255 }),
    body: text("The message itself.", { max: 10_000 }),
    confirmationRequestId: ref("Answers that recipients choose from.", "confirmation-requests", {
      embed: "confirmationRequest",
    }),
    distributionListIds: many("Lists whose users get the message.", "distribution-lists", {
      embed: "distributionLists",
      dependents: "message-template",
    }),
    userIds: many("Users who get the message.", "users", { embed: "users" }),
    deviceGroupIds: many("Groups whose devices play and show the message.", "device-groups", {
      embed: "deviceGroups",
      dependents: "message-template",
    }),
    areaOfInterestIds: many("Areas; whoever is inside when it is sent gets the message.", "areas-of-interest", {
      embed: "areasOfInterest",
    }),
    collaborationGroupIds: many("Chat groups that get the message.", "collaboration-groups", {
      embed: "collaborationGroups",
    }),
    incidentPlanId: ref("Plan whose incident a sent message starts.", "incident-plans", { embed: "incidentPlan" }),
    audio: file("Recording that is played after the alert tone.", AUDIO_TYPES),
    image: file("Picture that is shown with the text.", IMAGE_TYPES),
    imageMimeType: computed("Content type of the picture, null without one.", "text", { nullable: true }),
    imageAltText: text("The picture in words.", { max: 140 }),
    audioSize: computed("Size of the recording in bytes, as older clients read it.", "integer"),
    imageSize: computed("Size of the picture in bytes, as older clients read it.", "integer"),
    audioHash: computed("SHA-256 of the recording, hex, as older clients read it.", "text", { nullable: true }),
    imageHash: computed("SHA-256 of the picture, hex, as older clients read it.", "text", { nullable: true }),
    alertTone: option("Tone that opens the message.", ALERT_TONE_NAMES, { default: "default" }),
    ttsType: option("Which part of the message is spoken.", TTS_TYPES, { default: "none" }),
    ttsVoiceId: ref("Voice that speaks.", "tts-voices", { embed: "voice" }),
    ttsCustomContent: text(
      "Words that are spoken for custom-text, in several languages where a tag such as [de-DE] comes before them; for custom-ssml, an SSML document, without files and addresses. own choice: at most 10000 characters.",
      {
        max: 10_000,
      },
    ),
    ttsSpeed: option("How fast it is spoken.", TTS_SPEEDS, { default: "normal" }),
    expiration: integer("Seconds from the send until devices are cleared and answers end; null for never.", {
      min: 1,
      unit: "s",
    }),
    priority: option("How urgent the message is.", MESSAGE_PRIORITIES, { default: "normal" }),
    ...ALL_CLEAR_FIELDS,
    metadata: json("Free data of clients."),
    metadataCustomizable: customizableFlag("metadata"),
    followUp: boolean("Offered only as the continuation of a notification sent before.", { default: false }),
    optOut: boolean(
      "Recipients may decline the message. own choice: not a critical one, what continues one, what belongs to an incident, or an all-clear.",
      { default: false },
    ),
    notificationProfileId: ref("Settings per channel that the message is sent with.", "notification-profiles", {
      embed: "notificationProfile",
    }),
    inferredMessageType: computed("Text, Audio or TextAndAudio, with Image appended.", "text"),
    cancelNotificationsType: option(
      "Which messages that still go on are called off when it is sent. own choice: those of its domain; a drill calls off drills alone; emergencies are called off by an emergency or an all-clear alone.",
      ["none", "specific", "all"],
      { default: "none" },
    ),
    cancelNotificationsTypeDisplay: displayFlag("cancelNotificationsType"),
    messageTemplateCancellationIds: many(
      "Templates whose messages it calls off, for `specific`. own choice: given without includeMessageTemplateCancellationIds, too.",
      "message-templates",
    ),
    syncId: computed("Replication marker; equal on both sides once the row has been replicated.", "text", { nullable: true }),
    ...customizationFlags(CUSTOMIZABLE_FIELDS),
  },
});
