import { ConflictError } from "../base/errors.ts";
import type { NotificationSource } from "../resources/broadcasts/notification-sources.ts";
import type { By } from "../store/store.ts";
import type { SendOptions } from "./broadcaster.ts";
import type { NotificationRow } from "./compose.ts";
import { devicesMeant } from "./single-devices.ts";
import type { StageNeeds } from "./stage.ts";

/** The two-person rule: what somebody sends live to everything or as an emergency waits for another person. */
export interface SecondPerson {
  /** How long it waits; then it is not sent. */
  withinMs: number;
}

/** What people start. own choice: whoever presses a panic button is alone. */
const BY_PEOPLE: ReadonlySet<NotificationSource> = new Set(["api", "incident", "standard-scenario"]);
/** From this part of all devices on it is an all-call. own choice */
const ALL_CALL = 0.9;

/** What of a message decides whether another person is asked. */
type Asking = Pick<NotificationRow, "priorityLevel"> &
  Partial<Pick<NotificationRow, "draft" | "drill" | "deviceGroupIds" | "additionalDeviceIds">>;

/**
 * True for a live emergency or all-call that a person sends while the rule holds; never for a drill, an all-clear, or what a
 * machine or a rule of the appliance starts. Throws ConflictError, in words, for what is spoken at this moment, which can't wait.
 */
export async function needsSecondPerson(
  message: Asking,
  by: By,
  options: SendOptions,
  needs: Pick<StageNeeds, "store" | "memberships"> & { secondPerson?: SecondPerson | null },
): Promise<boolean> {
  if (!needs.secondPerson || message.draft || message.drill || by.actor.kind !== "user") return false;
  if (!BY_PEOPLE.has(options.source) || options.byMachine || options.held || options.sameRecipientsAs) return false;
  if (message.priorityLevel !== 0 && !(await isAllCall(message, needs))) return false;
  if (options.isLive) {
    throw new ConflictError("Another person must approve this, and a voice can't wait: record it and send it.");
  }
  return true;
}

async function isAllCall(
  { deviceGroupIds = [], additionalDeviceIds = [] }: Asking,
  needs: Pick<StageNeeds, "store" | "memberships">,
): Promise<boolean> {
  const all = needs.store.one<{ n: number }>("SELECT count(*) AS n FROM devices")?.n ?? 0;
  if (all === 0) return false;
  const meant = await devicesMeant({ deviceGroupIds, additionalDeviceIds, toldBefore: null }, needs);
  return meant.length >= ALL_CALL * all;
}

/** What a message holds while it waits; it expires when nobody approves it. */
export function waitingSince(now: number, { withinMs }: SecondPerson) {
  return { stage: "approval", approval: "waiting", expiresAt: now + withinMs } as const;
}
