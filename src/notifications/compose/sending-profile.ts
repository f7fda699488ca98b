import { invalidValue } from "../../lib/errors.ts";
import type { DeliveryProfile } from "../../plugin-api/index.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/on-premises-extension.ts";
import type { NotificationSource } from "../../resources/notifications/notification-sources.ts";
import { boolean, integer, number, option, text, uuid } from "../../schema/field.ts";
import { compileProfileSchema, mergeExtensionSettings, type ProfileSetting } from "./profile-settings.ts";

/** How a broadcast is sent to the devices of appliances. @source decisions.md 8 (notification profile) */
export interface SendingProfile extends DeliveryProfile {
  /** 1 highest … 9; null takes the source's. */
  priority: number | null;
  /** All begin together; else what has a stream of its own begins when it is ready, waited for by nobody. */
  synchronizedStart: boolean;
  /** How often the programme is heard. */
  repetitions: number;
  repetitionPauseMs: number;
  /** It is heard until the message expires. */
  repeatIndefinitely: boolean;
  /** A device busy with something as urgent is waited for. */
  queueingAllowed: boolean;
  /** False for a message of words alone: no tone, no recording, no speech. */
  isAudible: boolean;
  /** False where the profile leaves the devices of appliances out. */
  reachesDevices: boolean;
  skipUnresponsiveRecipients: boolean;
  /** What follows when it waits for devices that are busy. */
  queue: QueueRule;
}

/** How long a message waits for devices, and who is told when that was too long. */
export interface QueueRule {
  /** Null for as long as it is of use. */
  limitMs: number | null;
  /** Id of a device group; null for nobody. */
  groupId: string | null;
  /** Null for words of ours. */
  text: string | null;
}

const FIELD = "extensionSettingsOverrides";

/**
 * Settings for the devices of appliances. own choice: times are seconds; the defaults; at most 100 repetitions, since an
 * hour of sound is the most; kinds of live and ad-hoc audio sound like recordings; the group is named by its id, groups
 * having no numbers; 0 stands for no limit where it can be given. Each says which devices can obey it.
 * @source decisions.md 8; digest `/v1/notification-profiles/{…}/settings`
 */
const ONPREM_SETTINGS = {
  messageType: option(
    "What is sent: `Text` makes no sound; of kinds without `Text`, phones and signs that play the sound show no text.",
    [
      "Text",
      "Text and Pre-Recorded Audio",
      "Text and Live Audio",
      "Text and Ad-Hoc Audio",
      "Pre-Recorded Audio",
      "Live Audio",
      "Ad-Hoc Audio",
    ],
  ),
  priority: integer("1 highest.", { min: 1 }),
  volume: option("Volume of the devices, for those that can be told.", ["As-Is", "Maximum", "Medium", "Low"], {
    default: "As-Is",
  }),
  repetitions: integer("How often it is heard.", { min: 1, max: 100, default: 1 }),
  repetitionPause: number("Silence between two repetitions.", { min: 0, max: 600, unit: "s", default: 0 }),
  repeatIndefinitely: boolean("It is heard until the message expires, ten minutes at most.", { default: false }),
  ringtone: text("File of the phones, such as `Analog1.raw`, that they play when a message without sound comes."),
  persistentText: boolean("Text stays on phones after the sound.", { default: false }),
  skipPhonesInUse: boolean("Phones in a call are left alone.", { default: false }),
  queueingAllowed: boolean("Waits for busy devices.", { default: true }),
  concatenatedText: boolean(
    "Subject and body are shown as one text: phones, desktops, signs (`{{text}}` of a template).",
    {
      default: false,
    },
  ),
  duration: integer(
    "How long text is shown: phones, desktops from when they show it, signs that show text alone and can be told to stop.",
    { unit: "s" },
  ),
  scrollSpeed: integer(
    "How fast text scrolls, in characters a second: desktops, signs (a place of a template). Phones can't scroll.",
  ),
  scrollDuration: integer("How long text scrolls before it stands still, where it does.", { unit: "s" }),
  scrollRepetitions: integer("How often text scrolls before it stands still, where it does."),
  skipUnresponsiveRecipients: boolean(
    "Devices that do not answer are not asked again, and those that did not answer the last two messages are left out for an hour. Emergencies ask all the same.",
    { default: false },
  ),
  synchronizedDelivery: boolean(
    "All devices begin together. Else nobody waits for speakers and calls, which hear it from its beginning when they are ready, and no model is held back for slower ones; phones share a stream and begin together all the same.",
    { default: true },
  ),
  queuedFailureRecipientGroup: uuid("Device group that is told of messages that waited too long for devices."),
  queuedFailureText: text("What it is told; {{subject}}, {{devices}} and {{seconds}} stand for what waited.", {
    max: 10_000,
  }),
  queuedSendThreshold: integer(
    "How long a message may wait for devices that are busy; as long as it is of use unless given.",
    {
      min: 1,
      max: 86_400,
      unit: "s",
    },
  ),
};

/** Names the group that is told of what waited too long. */
export const QUEUED_FAILURE_GROUP = "queuedFailureRecipientGroup" satisfies keyof typeof ONPREM_SETTINGS;

/** What profiles say of the devices of appliances. */
export const ONPREM_SCHEMA = compileProfileSchema(ONPREM_SETTINGS);

/** What a message is sent with: the settings as they were when it was accepted, or what its sender gave. */
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
 * The settings for appliances' devices that a message is sent with: those given for the `onprem` extension, else the
 * defaults. Other extensions' settings and unknown names are left alone. Throws CallerError.
 */
export function parseSendingProfile(configured: MessageSettings): SendingProfile {
  return toSendingProfile(parseEffectiveSettings(configured));
}

/** As `sendingProfileOf`, of settings that are put together already. */
export function toSendingProfile(settings: readonly ProfileSetting[]): SendingProfile {
  const onprem = settings.find(({ id }) => id === ONPREM_EXTENSION_ID);
  const known = Object.entries(onprem?.value ?? {}).filter(([name]) => Object.hasOwn(ONPREM_SETTINGS, name));
  const fault = ONPREM_SCHEMA.validate(Object.fromEntries(known))[0];
  if (fault) throw invalidValue(FIELD, fault.message);
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

/** Timers can't count further: more than 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** How text is shown. */
function textSettingsOf(
  values: Record<string, unknown>,
): Pick<SendingProfile, "showsText" | "concatenatedText" | "durationMs" | "scroll"> {
  const { messageType, duration, scrollSpeed, scrollDuration, scrollRepetitions } = values;
  const given = (value: unknown, factor = 1): number | null =>
    typeof value === "number" && value > 0 ? Math.min(value * factor, LONGEST_MS) : null;
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

/** The group that settings have told of what waited too long, by its id; null for none. */
export function queuedFailureGroupOf(value: Readonly<Record<string, unknown>> | undefined): string | null {
  const { [QUEUED_FAILURE_GROUP]: id } = value ?? {};
  return typeof id === "string" && id !== "" ? id : null;
}

/**
 * The one scale 0..9: critical is 0, the emergency class; live pages are 3, bells 4; else the profile's priority, 5 without one.
 * @source interfaces.md, Priorities
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
