import { invalidValue } from "../base/errors.ts";
import type { DeliveryProfile } from "../plugin-api/index.ts";
import type { NotificationSource } from "../resources/broadcasts/notification-sources.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import { compileChecker } from "../schema/check.ts";
import { boolean, integer, number, option, text } from "../schema/field.ts";

/** How a broadcast is sent to the devices of appliances. @source decisions.md 8 (notification profile) */
export interface SendingProfile extends DeliveryProfile {
  /** 1 highest … 9; null takes the source's. */
  priority: number | null;
  /** How often the programme is heard. */
  repetitions: number;
  repetitionPauseMs: number;
  /** A device busy with something as urgent is waited for. */
  queueingAllowed: boolean;
}

const FIELD = "extensionSettingsOverrides";

/** own choice: repetitionPause counts seconds; the defaults; at most 100 repetitions, since an hour of sound is the most */
const SETTINGS = {
  priority: integer("1 highest.", { min: 1 }),
  volume: option("Volume of the devices.", ["As-Is", "Maximum", "Medium", "Low"], { default: "As-Is" }),
  repetitions: integer("How often it is heard.", { min: 1, max: 100, default: 1 }),
  repetitionPause: number("Silence between two repetitions.", { min: 0, max: 600, unit: "s", default: 0 }),
  ringtone: text("Ring tone of phones."),
  persistentText: boolean("Text stays after the sound.", { default: false }),
  skipPhonesInUse: boolean("Phones in a call are left alone.", { default: false }),
  queueingAllowed: boolean("Waits for busy devices.", { default: true }),
};

const checker = compileChecker(SETTINGS);

/**
 * The settings for appliances' devices that a message is sent with: those given for the `onprem` extension, else the
 * defaults. Other extensions' settings and unknown names are left alone. Throws CallerError.
 */
export function readSendingProfile(overrides: unknown): SendingProfile {
  const { values, faults } = checker.check(onpremSettings(overrides), "create");
  const fault = faults[0];
  if (fault) throw invalidValue(FIELD, fault.message);
  const { repetitionPause, ...rest } = values as Record<string, never> & { repetitionPause: number };
  return { ...(rest as unknown as SendingProfile), repetitionPauseMs: Math.round(repetitionPause * 1_000) };
}

function onpremSettings(overrides: unknown): Record<string, unknown> {
  if (overrides === null || overrides === undefined) return {};
  if (!isObject(overrides)) throw invalidValue(FIELD, "An object by extension id is expected.");
  const settings = overrides[ONPREM_EXTENSION_ID] ?? {};
  if (!isObject(settings)) throw invalidValue(FIELD, "The settings of an extension are an object.");
  return settings;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The one scale 0..9: critical is 0, the emergency class; bells are 4; else the profile's priority, 5 without one.
 * @source interfaces.md, Priorities
 */
export function priorityLevelOf(
  priority: "critical" | "normal",
  source: NotificationSource,
  profile: Pick<SendingProfile, "priority">,
): number {
  if (priority === "critical") return 0;
  if (source === "bell-schedule") return 4;
  return Math.min(9, profile.priority ?? 5);
}
