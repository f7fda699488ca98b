import { ConflictError } from "../../lib/errors.ts";
import type { NotificationSource } from "../../resources/notifications/notification-sources.ts";
import type { ActorContext } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";
import type { SendOptions } from "../notification-service.ts";
import { resolveTargetDevices } from "../recipients/individual-devices.ts";

/** The two-person rule: what somebody sends live to everything or as an emergency waits for another person. */
export interface TwoPersonRule {
  /** How long it waits; then it is not sent. */
  withinMs: number;
}

/** What people start. own choice: whoever presses a panic button is alone. */
const USER_SOURCES: ReadonlySet<NotificationSource> = new Set(["api", "incident", "standard-scenario"]);
/** From this part of all devices on it is an all-call. own choice */
const ALL_CALL_RATIO = 0.9;

/** What of a message decides whether another person is asked. */
type ApprovalSubject = Pick<NotificationRow, "priorityLevel"> &
  Partial<Pick<NotificationRow, "draft" | "drill" | "deviceGroupIds" | "additionalDeviceIds">>;

/**
 * True for a live emergency or all-call that a person sends while the rule holds; never for a drill, an all-clear, or what a
 * machine or a rule of the appliance starts. Throws ConflictError, in words, for what is spoken at this moment, which can't wait.
 */
export async function requiresApproval(
  message: ApprovalSubject,
  by: ActorContext,
  options: SendOptions,
  needs: Pick<PipelineStageDeps, "store" | "memberships"> & { secondPerson?: TwoPersonRule | null },
): Promise<boolean> {
  if (!needs.secondPerson || message.draft || message.drill || by.actor.kind !== "user") return false;
  if (!USER_SOURCES.has(options.source) || options.byMachine || options.held || options.sameRecipientsAs) return false;
  if (message.priorityLevel !== 0 && !(await isAllCall(message, needs))) return false;
  if (options.isLive) {
    throw new ConflictError("Another person must approve this, and a voice can't wait: record it and send it.");
  }
  return true;
}

async function isAllCall(
  { deviceGroupIds = [], additionalDeviceIds = [] }: ApprovalSubject,
  needs: Pick<PipelineStageDeps, "store" | "memberships">,
): Promise<boolean> {
  const all = needs.store.one<{ n: number }>("SELECT count(*) AS n FROM devices")?.n ?? 0;
  if (all === 0) return false;
  const meant = await resolveTargetDevices({ deviceGroupIds, additionalDeviceIds, toldBefore: null }, needs);
  return meant.length >= ALL_CALL_RATIO * all;
}

/** What a message holds while it waits; it expires when nobody approves it. */
export function awaitingApproval(now: number, { withinMs }: TwoPersonRule) {
  return { stage: "approval", approval: "waiting", expiresAt: now + withinMs } as const;
}
