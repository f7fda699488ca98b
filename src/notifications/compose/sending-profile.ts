import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { DeliveryProfile } from "../../plugin-api/index.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/on-premises-extension.ts";
import type { NotificationSource } from "../../resources/notifications/notification-sources.ts";
import { boolean, integer, number, option, text, uuid } from "../../schema/field.ts";
import { compileProfileSchema, mergeExtensionSettings, type ProfileSetting } from "./profile-settings.ts";

/**
 * How a broadcast is sent to on-premises devices. @source docs/decisions/0008-notifications-and-templates.md,
 * Notification profile
 */
export interface SendingProfile extends DeliveryProfile {
  /** 1 highest … 9; null for the priority of the source. */
  priority: number | null;
  /**
   * All devices start together; otherwise devices with their own stream start when they are ready and do not delay each
   * other.
   */
  synchronizedStart: boolean;
  /** Number of passes of the audio. */
  repetitions: number;
  repetitionPauseMs: number;
  /** Repeats until the message expires. */
  repeatIndefinitely: boolean;
  /** Queues for a device that is busy with an equally urgent message. */
  queueingAllowed: boolean;
  /** False for a text-only message: no tone, no recording, no speech. */
  isAudible: boolean;
  /** False where the profile excludes on-premises devices. */
  reachesDevices: boolean;
  skipUnresponsiveRecipients: boolean;
  /** Rule for a message that waits for busy devices. */
  queue: QueueRule;
}

/** How long a message waits for devices, and who is notified after that. */
export interface QueueRule {
  /** Null: until the message's deadline. */
  limitMs: number | null;
  /** Id of a device group; null for none. */
  groupId: string | null;
  /** Null for the default text. */
  text: string | null;
}

const FIELD = "extensionSettingsOverrides";

/**
 * Profile settings of on-premises devices; times in seconds. The description of each says which devices support it.
 * @source docs/decisions/0008-notifications-and-templates.md, Notification profile
 */
const ONPREM_SETTINGS = {
  messageType: option(sentence("profile.message-type"), [
    "Text",
    "Text and Pre-Recorded Audio",
    "Text and Live Audio",
    "Text and Ad-Hoc Audio",
    "Pre-Recorded Audio",
    "Live Audio",
    "Ad-Hoc Audio",
  ]),
  priority: integer(sentence("profile.priority"), { min: 1 }),
  volume: option(sentence("profile.volume"), ["As-Is", "Maximum", "Medium", "Low"], {
    default: "As-Is",
  }),
  repetitions: integer(sentence("profile.repetitions"), { min: 1, max: 100, default: 1 }),
  repetitionPause: number(sentence("profile.repetition-pause"), { min: 0, max: 600, unit: "s", default: 0 }),
  repeatIndefinitely: boolean(sentence("profile.repeat-indefinitely"), { default: false }),
  ringtone: text(sentence("profile.ringtone")),
  persistentText: boolean(sentence("profile.persistent-text"), { default: false }),
  skipPhonesInUse: boolean(sentence("profile.skip-busy-phones"), { default: false }),
  queueingAllowed: boolean(sentence("profile.queueing-allowed"), { default: true }),
  concatenatedText: boolean(sentence("profile.concatenated-text"), {
    default: false,
  }),
  duration: integer(sentence("profile.duration"), { unit: "s" }),
  scrollSpeed: integer(sentence("profile.scroll-speed")),
  scrollDuration: integer(sentence("profile.scroll-duration"), { unit: "s" }),
  scrollRepetitions: integer(sentence("profile.scroll-repetitions")),
  skipUnresponsiveRecipients: boolean(sentence("profile.skip-unresponsive"), { default: false }),
  synchronizedDelivery: boolean(sentence("profile.synchronized"), { default: true }),
  queuedFailureRecipientGroup: uuid(sentence("profile.queued-failure-group")),
  queuedFailureText: text(sentence("profile.queued-failure-text"), {
    max: 10_000,
  }),
  queuedSendThreshold: integer(sentence("profile.queued-send-threshold"), {
    min: 1,
    max: 86_400,
    unit: "s",
  }),
};

/** `initiationSourceType` of the notice that a message waited too long. */
export const QUEUED_FAILURE = "queued-failure";

/** Setting with the group that is notified of messages that waited too long. */
export const QUEUED_FAILURE_GROUP = "queuedFailureRecipientGroup" satisfies keyof typeof ONPREM_SETTINGS;

/** Schema of the profile settings of on-premises devices. */
export const ONPREM_SCHEMA = compileProfileSchema(ONPREM_SETTINGS);

/** Settings of a message: as stored when it was accepted, or as given by its sender. */
export interface MessageSettings {
  extensionSettingsOverrides: unknown;
  /** JSON of `ProfileSetting[]`; null for messages from before there were profiles. */
  effectiveSettings?: string | null;
}

/** The settings of all extensions that a message is sent with. Throws CallerError. */
export function parseEffectiveSettings({
  effectiveSettings,
  extensionSettingsOverrides,
}: MessageSettings): ProfileSetting[] {
  if (!effectiveSettings) return mergeExtensionSettings(null, extensionSettingsOverrides);
  return JSON.parse(effectiveSettings) as ProfileSetting[];
}

/**
 * The on-premises settings that a message is sent with: those of the `onprem` extension, else the defaults. Ignores
 * other extensions and unknown names. Throws CallerError.
 */
export function parseSendingProfile(configured: MessageSettings): SendingProfile {
  return toSendingProfile(parseEffectiveSettings(configured));
}

/** As `parseSendingProfile`, from merged settings. */
export function toSendingProfile(settings: readonly ProfileSetting[]): SendingProfile {
  const onprem = settings.find(({ id }) => id === ONPREM_EXTENSION_ID);
  const known = Object.entries(onprem?.value ?? {}).filter(([name]) => Object.hasOwn(ONPREM_SETTINGS, name));
  const error = ONPREM_SCHEMA.validate(Object.fromEntries(known))[0];
  if (error) throw invalidValue(FIELD, error.message);
  const values = ONPREM_SCHEMA.withDefaults(onprem?.value ?? {});
  const { volume, ringtone, persistentText, skipPhonesInUse, priority, repetitions, queueingAllowed } =
    values as unknown as SendingProfile;
  return {
    ...{ volume, ringtone: ringtone || null, persistentText, skipPhonesInUse },
    ...{ ...textSettingsOf(values), synchronizedStart: values.synchronizedDelivery !== false },
    ...{ priority: priority ?? null, repetitions, queueingAllowed },
    repetitionPauseMs: Math.round((values.repetitionPause as number) * 1_000),
    repeatIndefinitely: values.repeatIndefinitely === true,
    isAudible: values.messageType !== "Text",
    reachesDevices: onprem?.disabled !== true,
    skipUnresponsiveRecipients: values.skipUnresponsiveRecipients === true,
    queue: queueRuleOf(values),
  };
}

/** Maximum of a timer: more than 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Settings of how text is shown. */
function textSettingsOf(
  values: Record<string, unknown>,
): Pick<SendingProfile, "showsText" | "concatenatedText" | "durationMs" | "scroll"> {
  const { messageType, duration, scrollSpeed, scrollDuration, scrollRepetitions } = values;
  const given = (value: unknown, factor = 1): number | null =>
    typeof value === "number" && value > 0 ? Math.min(value * factor, MAX_TIMER_MS) : null;
  const scroll = {
    speed: given(scrollSpeed),
    durationMs: given(scrollDuration, 1_000),
    repetitions: given(scrollRepetitions),
  };
  return {
    showsText: typeof messageType !== "string" || messageType.startsWith("Text"),
    concatenatedText: values.concatenatedText === true,
    durationMs: given(duration, 1_000),
    scroll: Object.values(scroll).every((value) => value === null) ? null : scroll,
  };
}

function queueRuleOf({
  queuedSendThreshold,
  queuedFailureRecipientGroup,
  queuedFailureText,
}: Record<string, unknown>): QueueRule {
  return {
    limitMs: typeof queuedSendThreshold === "number" ? queuedSendThreshold * 1_000 : null,
    groupId: (queuedFailureRecipientGroup as string | undefined) ?? null,
    text: (queuedFailureText as string | undefined) || null,
  };
}

/** Id of the group that is notified of messages that waited too long; null for none. */
export function queuedFailureGroupOf(value: Readonly<Record<string, unknown>> | undefined): string | null {
  const { [QUEUED_FAILURE_GROUP]: id } = value ?? {};
  return typeof id === "string" && id !== "" ? id : null;
}

/**
 * The priority level 0..9: critical is 0, the emergency class; live pages are 3, bells 4; else the profile's priority,
 * 5 without one. @source docs/decisions/0022-priorities.md
 */
export function priorityLevelOf(
  priority: "critical" | "normal",
  { source, isLive = false }: { source: NotificationSource; isLive?: boolean },
  profile: Pick<SendingProfile, "priority">,
): number {
  if (priority === "critical") return 0;
  if (isLive) return 3;
  if (source === "bell-schedule") return 4;
  return Math.min(9, profile.priority ?? 5);
}
