import { invalidValue } from "../base/errors.ts";
import type { DeliveryProfile } from "../plugin-api/index.ts";
import type { NotificationSource } from "../resources/broadcasts/notification-sources.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import { boolean, integer, number, option, text } from "../schema/field.ts";
import { compileProfileSchema, extensionSettings, type ProfileSetting } from "./profile-settings.ts";

/** How a broadcast is sent to the devices of appliances. @source decisions.md 8 (notification profile) */
export interface SendingProfile extends DeliveryProfile {
  /** 1 highest … 9; null takes the source's. */
  priority: number | null;
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
}

const FIELD = "extensionSettingsOverrides";

/**
 * Settings for the devices of appliances. own choice: times are seconds; the defaults; at most 100 repetitions, since an
 * hour of sound is the most; kinds of live and ad-hoc audio sound like recordings.
 * @source decisions.md 8; digest `/v1/notification-profiles/{…}/settings`
 */
const ONPREM_SETTINGS = {
  messageType: option("What is sent; `Text` makes no sound.", [
    "Text",
    "Text and Pre-Recorded Audio",
    "Text and Live Audio",
    "Text and Ad-Hoc Audio",
    "Pre-Recorded Audio",
    "Live Audio",
    "Ad-Hoc Audio",
  ]),
  priority: integer("1 highest.", { min: 1 }),
  volume: option("Volume of the devices.", ["As-Is", "Maximum", "Medium", "Low"], { default: "As-Is" }),
  repetitions: integer("How often it is heard.", { min: 1, max: 100, default: 1 }),
  repetitionPause: number("Silence between two repetitions.", { min: 0, max: 600, unit: "s", default: 0 }),
  repeatIndefinitely: boolean("It is heard until the message expires, ten minutes at most.", { default: false }),
  ringtone: text("Ring tone of phones."),
  persistentText: boolean("Text stays after the sound.", { default: false }),
  skipPhonesInUse: boolean("Phones in a call are left alone.", { default: false }),
  queueingAllowed: boolean("Waits for busy devices.", { default: true }),
  concatenatedText: boolean("Subject and body are shown as one text.", { default: false }),
  duration: integer("How long text is shown.", { unit: "s" }),
  scrollSpeed: integer("How fast text scrolls."),
  scrollDuration: integer("How long text scrolls.", { unit: "s" }),
  scrollRepetitions: integer("How often text scrolls."),
  skipUnresponsiveRecipients: boolean("Devices that do not answer are not asked again.", { default: false }),
  synchronizedDelivery: boolean("All devices begin together.", { default: true }),
  queuedFailureRecipientGroup: integer("Group that is told of messages that waited too long."),
  queuedFailureText: text("What it is told.", { max: 10_000 }),
  queuedSendThreshold: integer("How long a message may wait.", { unit: "s" }),
};

/** What profiles say of the devices of appliances. */
export const ONPREM_SCHEMA = compileProfileSchema(ONPREM_SETTINGS);

/** What a message is sent with: the settings as they were when it was accepted, or what its sender gave. */
export interface Configured {
  extensionSettingsOverrides: unknown;
  /** JSON of `ProfileSetting[]`; null for messages from before there were profiles. */
  effectiveSettings?: string | null;
}

/** The settings of all extensions that a message is sent with. Throws CallerError. */
export function effectiveSettingsOf({ effectiveSettings, extensionSettingsOverrides }: Configured): ProfileSetting[] {
  if (!effectiveSettings) return extensionSettings(null, extensionSettingsOverrides);
  return JSON.parse(effectiveSettings) as ProfileSetting[];
}

/**
 * The settings for appliances' devices that a message is sent with: those given for the `onprem` extension, else the
 * defaults. Other extensions' settings and unknown names are left alone. Throws CallerError.
 */
export function sendingProfileOf(configured: Configured): SendingProfile {
  return readSendingProfile(effectiveSettingsOf(configured));
}

/** As `sendingProfileOf`, of settings that are put together already. */
export function readSendingProfile(settings: readonly ProfileSetting[]): SendingProfile {
  const onprem = settings.find(({ id }) => id === ONPREM_EXTENSION_ID);
  const known = Object.entries(onprem?.value ?? {}).filter(([name]) => Object.hasOwn(ONPREM_SETTINGS, name));
  const fault = ONPREM_SCHEMA.faultsOf(Object.fromEntries(known))[0];
  if (fault) throw invalidValue(FIELD, fault.message);
  const values = ONPREM_SCHEMA.complete(onprem?.value ?? {});
  const { volume, ringtone, persistentText, skipPhonesInUse, priority, repetitions, queueingAllowed } =
    values as unknown as SendingProfile;
  return {
    ...{ volume, ringtone: ringtone ?? null, persistentText, skipPhonesInUse },
    ...{ priority: priority ?? null, repetitions, queueingAllowed },
    repetitionPauseMs: Math.round((values.repetitionPause as number) * 1_000),
    repeatIndefinitely: values.repeatIndefinitely === true,
    isAudible: values.messageType !== "Text",
    reachesDevices: onprem?.disabled !== true,
  };
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
