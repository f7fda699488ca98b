import {
  boolean,
  computed,
  file,
  integer,
  internal,
  json,
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
import { NOTIFICATION_SOURCES } from "./notification-sources.ts";
import { PROGRESS_FIELDS } from "./progress-fields.ts";
import { RECIPIENT_RESPONSE_FIELDS } from "./recipient-response-fields.ts";

/**
 * Messages that were sent; making one sends it. What the caller leaves out is taken from the template.
 * @source service-api.md, Notification; decisions.md 8; interfaces.md, Log-in and drill, Priorities; digest `/v1/notifications`
 */
export default defineResource({
  name: "notifications",
  doc: "A message that is or was sent, with what became of it.",
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
  indexes: [["stage"], ["notificationSource"], ["expiresAt"], ["approval"]],
  fields: {
    messageTemplateId: ref("Template it was made from.", "message-templates", {
      embed: "messageTemplate",
      embedUnless: "raw",
    }),
    subject: text("First line of the message.", { min: 1, max: 255 }),
    body: text("The message itself.", { max: 10_000 }),
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
    additionalDeviceIds: many("Single devices that play and show it, too. own choice.", "devices", { maxItems: 1_000 }),
    additionalDeviceRecipients: json(
      "The same by what they are called: `[{type, lookupValue}]`. own choice: type is ip-speaker, phone or device; lookupValue is an id or a deviceIdentifier.",
      { maxBytes: 262_144 },
    ),
    confirmationRequestId: ref("Answers that recipients choose from.", "confirmation-requests", {
      embed: "confirmationRequest",
      embedUnless: "raw",
      part: true,
    }),
    confirmationResults: computed("How many recipients gave each answer, by the answer's text.", "object", {
      of: integer("How many."),
    }),
    recipientCount: computed("People it was sent to.", "integer"),
    confirmableCount: computed("Recipients who can answer.", "integer"),
    readCount: computed("Recipients who read it.", "integer"),
    smsSent: computed("Text messages sent for it.", "integer"),
    smsReceived: computed("Text messages received in answer.", "integer"),
    progress: computed("percentComplete and one counter per kind of activity.", "object", { of: PROGRESS_FIELDS }),
    image: file("Picture that is shown with the text.", IMAGE_TYPES),
    audio: file("Recording that is played after the alert tone.", AUDIO_TYPES),
    imageMimeType: computed("Content type of the picture, null without one.", "text", { nullable: true }),
    imageAltText: text("The picture in words.", { max: 140 }),
    alertTone: option("Tone that opens the message.", ALERT_TONE_NAMES),
    ttsType: option("Which part of the message is spoken.", TTS_TYPES),
    ttsVoiceId: ref("Voice that speaks.", "tts-voices", { embed: "voice", embedUnless: "raw" }),
    ttsCustomContent: text(
      "Words that are spoken for custom-text, in several languages where a tag such as [de-DE] comes before them; for custom-ssml, an SSML document, without files and addresses.",
      { max: 10_000 },
    ),
    ttsSpeed: option("How fast it is spoken.", TTS_SPEEDS),
    notificationProfileId: ref("Settings per channel that it is sent with.", "notification-profiles", {
      embed: "notificationProfile",
      embedUnless: "raw",
    }),
    extensionSettingsOverrides: json("Settings per extension id that replace those of the profile."),
    incidentPlanId: ref("Plan whose incident it starts.", "incident-plans", {
      embed: "incidentPlan",
      embedUnless: "raw",
    }),
    expiration: integer("Seconds from the send until devices are cleared and answers end; null for never.", {
      min: 1,
      unit: "s",
    }),
    expiresAt: timestamp("Moment at which it expires.", { readOnly: true }),
    abortedAt: timestamp("When somebody ended it before its time.", { readOnly: true }),
    soundsAt: computed(
      "own choice: when a bell or scheduled message, which is made ready before its time, is to be heard; null for any other.",
      "timestamp",
      { nullable: true },
    ),
    priority: option("How urgent it is; critical is the emergency class.", MESSAGE_PRIORITIES),
    customVars: json("Object of values for the `{{name}}` places in subject, body and spoken text."),
    draft: boolean("A preview: says who and what would be reached; nothing is sent.", { default: false }),
    drill: boolean("An exercise, shown as such everywhere and inherited by what follows from it.", {
      createOnly: true,
      default: false,
    }),
    approval: option(
      "Whether another person lets it go out, where the appliance asks for one; null where nobody is asked. own choice: it waits until `expiresAt`; `refused` and `expired` were not sent.",
      ["waiting", "approved", "refused", "expired"],
      { readOnly: true },
    ),
    approverId: ref("Who approved or refused it.", "users", { embed: "approver", embedUnless: "raw", readOnly: true }),
    ...ALL_CLEAR_FIELDS,
    metadata: json("Free data of clients."),
    notificationSource: option(
      "What started it. own choice: said by Carillon, never by the caller.",
      NOTIFICATION_SOURCES,
      {
        readOnly: true,
        default: "api",
      },
    ),
    initiatorId: ref("User who sent it; null when none did.", "users", {
      embed: "initiator",
      embedUnless: "raw",
      readOnly: true,
    }),
    initiatingEndpointId: ref("Appliance it was sent from.", "endpoints", { readOnly: true }),
    initiationSourceType: text("Kind of thing that started it, such as a device type.", { readOnly: true, max: 140 }),
    initiationSourceId: text("Id of the thing that started it.", { readOnly: true }),
    initiationSourceDescription: text("The thing that started it, in words.", { readOnly: true }),
    initiationSourceClientId: text("Client id of the program that sent it.", { readOnly: true }),
    initiationDetails: json("Further particulars of what started it.", { readOnly: true }),
    incidentId: ref(
      "Incident it belongs to. own choice: given by the sender it is sent within that, which must go on; a drill's messages are drills.",
      "incidents",
      { createOnly: true },
    ),
    scenarioNotificationId: ref("Started scenario it belongs to.", "scenario-notifications", { readOnly: true }),
    parentNotificationId: ref(
      "Notification that led to this one, by its answers or by being continued.",
      "notifications",
      { readOnly: true },
    ),
    followUpForNotificationId: ref(
      "Notification that this one continues. own choice: what continues a drill is a drill, what continues a live message is live; it belongs to the same incident.",
      "notifications",
    ),
    followUpAllowed: computed("Whether templates for a continuation are offered.", "boolean"),
    server: computed("Appliance it was sent from; returned with includeServer.", "object", {
      of: { id: uuid("Its id.", { required: true }), name: text("Its name.") },
      nullable: true,
      when: "includeServer",
    }),
    floorPlan: floorPlanField(
      "Plan of the floor where the scenario was started that it belongs to.",
      "includeFloorPlan",
    ),
    ...RECIPIENT_RESPONSE_FIELDS,
    effectiveSettings: internal("JSON of the settings per extension that it is sent with.", "text"),
    stage: internal(
      "Stage of the broadcast that is next, `settled` at the end, `draft` for a preview, `approval` while another person is waited for.",
      "text",
    ),
    stageAt: internal("Epoch ms at which it last set off through the stages.", "integer"),
    priorityLevel: internal("0 highest … 9 lowest, from priority and source.", "integer"),
    notAfter: internal("Epoch ms after which an unsent delivery is of no use.", "integer"),
    heldUntil: internal(
      "Epoch ms at which it is to sound, for what is made ready before its time; else null.",
      "integer",
    ),
    goesAgainTo: internal(
      "To whom it was last sent again: `missed`, whom it had not reached, or `unanswered`; null for never.",
      "text",
    ),
    repeatNumber: internal("How often it was sent again to whom had not answered; null for never.", "integer"),
    toldBefore: internal("JSON list of ids of messages: whoever got them gets this one, too; null for none.", "text"),
    escalationRuleId: internal("Id of the rule that led to it.", "text"),
    programmeSha: internal("SHA-256 of the prepared audio, hex; null while not prepared or without sound.", "text"),
    programmeMs: internal("Length of the prepared audio in ms.", "integer"),
    audioGroup: internal("Multicast group that phones join.", "text"),
    audioPort: internal("Port of that group.", "integer"),
    ssrc: internal("RTP synchronisation source of all its streams, an unsigned 32-bit number.", "integer"),
    t0: internal("Epoch ms of the first audio packet; null before the start.", "integer"),
    streamEndedAt: internal("Epoch ms of the last audio packet.", "integer"),
    settledAt: internal("Epoch ms at which the last delivery ended.", "integer"),
    retriedAt: internal(
      "Epoch ms at which it was last sent again to what it had not reached; null for never.",
      "integer",
    ),
  },
});
