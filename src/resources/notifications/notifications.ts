import {
  boolean,
  computed,
  file,
  integer,
  internal,
  json,
  list,
  many,
  option,
  ref,
  text,
  timestamp,
  uuid,
} from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { ALERT_TONE_NAMES } from "../messages/alert-tones.ts";
import { ALL_CLEAR_FIELDS } from "../messages/all-clear-fields.ts";
import { AUDIO_TYPES, IMAGE_TYPES } from "../messages/media-types.ts";
import { MESSAGE_PRIORITIES, TTS_SPEEDS, TTS_TYPES } from "../messages/message-options.ts";
import { floorPlanField } from "../places/floor-plan-field.ts";
import { sentenceField, sentencesField } from "../sentence-field.ts";
import { NOTIFICATION_SOURCES } from "./notification-sources.ts";
import { UNFINISHED_SQL } from "./pipeline-stages.ts";
import { PROGRESS_FIELDS } from "./progress-fields.ts";
import { RECIPIENT_RESPONSE_FIELDS } from "./recipient-response-fields.ts";

/**
 * Notifications; creating one sends it. Fields that the caller omits are copied from the template.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0021-login-and-drills.md;
 * docs/decisions/0022-priorities.md; docs/decisions/0042-api-contract.md, `/v1/notifications`
 */
export default defineResource({
  name: "notifications",
  doc: "A message that is being sent or was sent, with its results.",
  paths: [
    { at: "notifications", methods: ["get", "post", "delete"] },
    {
      at: "users/{userId}/notifications",
      methods: ["get", "delete"],
      through: { resource: "notification-recipients", via: "notificationId", hiddenBy: "hiddenAt" },
    },
  ],
  idParam: "notificationId",
  scope: "domain",
  replicate: "D",
  indexes: [["notificationSource"], ["expiresAt"], ["approval"]],
  partialIndexes: {
    unfinished: { fields: ["priorityLevel"], where: UNFINISHED_SQL },
    all_clear: { fields: ["createdAt"], where: "alert_tone LIKE 'all-clear%'" },
  },
  fields: {
    messageTemplateId: ref("Template of the message.", "message-templates", {
      embed: "messageTemplate",
      embedUnless: "raw",
    }),
    subject: text("Subject of the message.", { min: 1, max: 255 }),
    body: text("Body of the message.", { max: 10_000 }),
    distributionListIds: many("Lists whose users receive it.", "distribution-lists", {
      embed: "distributionLists",
      embedUnless: "raw",
    }),
    userIds: many("Users who receive it.", "users", { embed: "users", embedUnless: "raw" }),
    deviceGroupIds: many("Device groups that play and display it.", "device-groups", {
      embed: "deviceGroups",
      embedUnless: "raw",
    }),
    areaOfInterestIds: many("Areas whose occupants receive it.", "areas-of-interest", {
      embed: "areasOfInterest",
      embedUnless: "raw",
    }),
    collaborationGroupIds: many("Collaboration groups that receive it.", "collaboration-groups", {
      embed: "collaborationGroups",
      embedUnless: "raw",
    }),
    additionalDeviceIds: many("Additional single devices that play and display it.", "devices", { maxItems: 1_000 }),
    additionalDeviceRecipients: json(
      "Additional devices by name: `[{type, lookupValue}]`, where type is ip-speaker, phone or device and lookupValue is an id or a deviceIdentifier.",
      { maxBytes: 262_144, items: { type: text("Type."), lookupValue: text("Id or identifier.", { max: 4_096 }) } },
    ),
    confirmationRequestId: ref("Confirmation request with the possible answers.", "confirmation-requests", {
      embed: "confirmationRequest",
      embedUnless: "raw",
      part: true,
    }),
    confirmationResults: computed("Number of recipients per answer, by the text of the answer.", "object", {
      of: integer("Count."),
    }),
    confirmationResponseCounts: computed("The same as `confirmationResults`, as other clients call it.", "object", {
      of: integer("Count."),
    }),
    recipientCount: computed(
      "Number of recipients. The response to a send has it where counting takes less than 50 ms; otherwise it grows while recipients are written.",
      "integer",
    ),
    confirmableCount: computed("Number of recipients who can answer.", "integer"),
    readCount: computed("Number of recipients who read it.", "integer"),
    smsSent: computed("Number of text messages sent.", "integer"),
    smsReceived: computed("Number of text messages received in reply.", "integer"),
    progress: computed("percentComplete and one counter per activity type.", "object", { of: PROGRESS_FIELDS }),
    image: file("Image displayed with the text.", IMAGE_TYPES),
    audio: file("Recording played after the alert tone.", AUDIO_TYPES),
    imageMimeType: computed("Content type of the image; null without one.", "text", { nullable: true }),
    imageAltText: text("Alternative text of the image.", { max: 140 }),
    alertTone: option("Alert tone at the start of the message.", ALERT_TONE_NAMES),
    ttsType: option("Part of the message that is spoken.", TTS_TYPES),
    ttsVoiceId: ref("Voice used for speech.", "tts-voices", { embed: "voice", embedUnless: "raw" }),
    ttsCustomContent: text(
      "Spoken text for custom-text; a tag such as [de-DE] switches the language. For custom-ssml, an SSML document without references to files or URLs.",
      { max: 10_000 },
    ),
    ttsSpeed: option("Speech rate.", TTS_SPEEDS),
    notificationProfileId: ref("Notification profile with the settings per channel.", "notification-profiles", {
      embed: "notificationProfile",
      embedUnless: "raw",
    }),
    extensionSettingsOverrides: json("Settings by extension id that override those of the profile.", {
      fromText: true,
    }),
    incidentPlanId: ref("Incident plan; the message starts an incident of it.", "incident-plans", {
      embed: "incidentPlan",
      embedUnless: "raw",
    }),
    expiration: integer(
      "Time from sending until displays are cleared and answers are no longer accepted; null for never.",
      {
        min: 1,
        unit: "s",
      },
    ),
    expiresAt: timestamp("Expiry time.", { readOnly: true }),
    abortedAt: timestamp("When it was ended before its expiry.", { readOnly: true }),
    soundsAt: computed(
      "Start time of the audio of a bell or scheduled message, which is prepared in advance; null for other messages.",
      "timestamp",
      { nullable: true },
    ),
    priority: option("Priority; critical is the emergency class.", MESSAGE_PRIORITIES),
    customVars: json("Values of the `{{name}}` placeholders in subject, body and spoken text.", { fromText: true }),
    unfilledVariables: list(
      "Variables without value; their placeholders were removed from the texts. At most 50 are listed.",
      text("Name of a variable.", { max: 140 }),
      { readOnly: true, default: [] },
    ),
    draft: boolean("Preview: returns who and what would be reached; nothing is sent.", { default: false }),
    drill: boolean("Drill: marked as such everywhere, and inherited by everything that follows from it.", {
      createOnly: true,
      default: false,
    }),
    approval: option(
      "Two-person approval state; null if no approval is required. `waiting` lasts until `expiresAt`; `refused` and `expired` messages were not sent.",
      ["waiting", "approved", "refused", "expired"],
      { readOnly: true },
    ),
    approverId: ref("User who approved or refused it.", "users", {
      embed: "approver",
      embedUnless: "raw",
      readOnly: true,
    }),
    ...ALL_CLEAR_FIELDS,
    metadata: json("Free-form data for clients."),
    notificationSource: option(
      "Source of the notification; set by Carillon, not by the caller.",
      NOTIFICATION_SOURCES,
      {
        readOnly: true,
        default: "api",
      },
    ),
    initiatorId: ref("User who sent it; null if it was not sent by a user.", "users", {
      embed: "initiator",
      embedUnless: "raw",
      readOnly: true,
    }),
    initiatingEndpointId: ref("Appliance that sent it.", "endpoints", { readOnly: true }),
    initiationSourceType: text("Type of the initiator, such as a device type.", { readOnly: true, max: 140 }),
    initiationSourceId: text("Id of the initiator.", { readOnly: true }),
    initiationSourceDescription: text("Description of the initiator.", { readOnly: true }),
    initiationSourceClientId: text("Client id of the application that sent it.", { readOnly: true }),
    initiationDetails: json("Further details of the initiator.", { readOnly: true }),
    incidentId: ref(
      "Incident of the message. If the sender sets it, the incident must be active; messages of a drill are drills.",
      "incidents",
      { createOnly: true },
    ),
    scenarioNotificationId: ref("Scenario notification of the message.", "scenario-notifications", { readOnly: true }),
    parentNotificationId: ref(
      "Notification from which this one follows, by an escalation or as a follow-up.",
      "notifications",
      { readOnly: true },
    ),
    followUpForNotificationId: ref(
      "Notification that this one follows up. A follow-up to a drill is a drill, a follow-up to a live message is live; it belongs to the same incident.",
      "notifications",
    ),
    followUpForNotificationQuery: text(
      "Search that names the notification this one follows up, with the syntax of `q` in lists: the newest notification found that was sent. Instead of `followUpForNotificationId`, which it sets.",
      { createOnly: true, max: 1_000, search: false },
    ),
    followUpAllowed: computed("Whether follow-up templates are offered.", "boolean"),
    subjectSentence: sentenceField("Subject of a message that the server wrote"),
    bodySentences: sentencesField("Lines of the body of a message that the server wrote", { nullable: true }),
    catchingUp: computed(
      "Whether this emergency is sent again automatically to devices that have not heard it, until the all-clear, its end or its expiry.",
      "boolean",
    ),
    server: computed("Appliance it was sent from; returned with includeServer.", "object", {
      of: { id: uuid("Id.", { required: true }), name: text("Name.") },
      nullable: true,
      when: "includeServer",
    }),
    floorPlan: floorPlanField("Floor plan of the location where its scenario was started.", "includeFloorPlan"),
    ...RECIPIENT_RESPONSE_FIELDS,
    effectiveSettings: internal("JSON of the effective settings per extension.", "text"),
    stage: internal(
      "Next pipeline stage; `settled` at the end, `draft` for a preview, `approval` while it waits for approval.",
      "text",
    ),
    stageAt: internal("Epoch ms at which it last entered the pipeline.", "integer"),
    priorityLevel: internal("0 highest … 9 lowest, from priority and source.", "integer"),
    notAfter: internal("Epoch ms after which an unsent delivery is obsolete.", "integer"),
    heldUntil: internal("Epoch ms of the scheduled start of a message prepared in advance; otherwise null.", "integer"),
    goesAgainTo: internal(
      "Recipients of the last repetition: `missed` (on request, to devices that were not reached or missed the audio), `unheard` (automatic, to such on-premises devices) or `unanswered`; null without one.",
      "text",
    ),
    repeatNumber: internal("Number of repetitions to recipients who had not answered; null for none.", "integer"),
    toldBefore: internal(
      "JSON list of notification ids whose recipients also receive this one; null for none.",
      "text",
    ),
    escalationRuleId: internal("Id of the escalation rule that created it.", "text"),
    programmeSha: internal("SHA-256 of the prepared audio, hex; null while not prepared or without audio.", "text"),
    programmeMs: internal("Length of the prepared audio in ms.", "integer"),
    audioGroup: internal("Multicast group that phones join.", "text"),
    audioPort: internal("Port of that group.", "integer"),
    ssrc: internal("RTP synchronisation source (SSRC) of all its streams, an unsigned 32-bit number.", "integer"),
    t0: internal("Epoch ms of the first audio packet; null before the start.", "integer"),
    streamEndedAt: internal("Epoch ms of the last audio packet.", "integer"),
    settledAt: internal("Epoch ms at which the last delivery ended.", "integer"),
    retriedAt: internal("Epoch ms of the last retry to devices that had not been reached; null for none.", "integer"),
  },
});
