import { ConflictError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { NotificationSource } from "../../resources/notifications/notification-sources.ts";
import type { ActorContext } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";
import type { SendOptions } from "../notification-service.ts";
import { resolveTargetDevices } from "../recipients/individual-devices.ts";

/** The two-person rule: a live all-call or emergency sent by a person requires approval by another person. */
export interface TwoPersonRule {
  /** How long it waits; after that it is not sent. */
  withinMs: number;
}

/** Sources that are people. A panic button is exempt: the person who presses it may be alone. */
const USER_SOURCES: ReadonlySet<NotificationSource> = new Set(["api", "incident", "standard-scenario"]);
/** Share of all devices from which a message is an all-call. */
const ALL_CALL_RATIO = 0.9;

/** The fields of a message that decide whether approval is required. */
type ApprovalSubject = Pick<NotificationRow, "priorityLevel"> &
  Partial<Pick<NotificationRow, "draft" | "drill" | "deviceGroupIds" | "additionalDeviceIds">>;

/**
 * True for a live emergency or all-call that a person sends while the rule is on; never for a drill, an all-clear, or a
 * message of a machine or a rule of the appliance. Throws ConflictError for a live page, which cannot wait.
 */
export async function requiresApproval(
  message: ApprovalSubject,
  by: ActorContext,
  options: SendOptions,
  deps: Pick<PipelineStageDeps, "store" | "memberships"> & { secondPerson?: TwoPersonRule | null },
): Promise<boolean> {
  if (!deps.secondPerson || message.draft || message.drill || by.actor.kind !== "user") return false;
  if (!USER_SOURCES.has(options.source) || options.byMachine || options.held || options.sameRecipientsAs) return false;
  if (message.priorityLevel !== 0 && !(await isAllCall(message, deps))) return false;
  if (options.isLive) {
    throw new ConflictError(
      sentence("error.the-message-requires-approval-by-another-person-and-a-live-page-cannot-wait-record"),
    );
  }
  return true;
}

async function isAllCall(
  { deviceGroupIds = [], additionalDeviceIds = [] }: ApprovalSubject,
  deps: Pick<PipelineStageDeps, "store" | "memberships">,
): Promise<boolean> {
  const all = deps.store.one<{ n: number }>("SELECT count(*) AS n FROM devices")?.n ?? 0;
  if (all === 0) return false;
  const targets = await resolveTargetDevices({ deviceGroupIds, additionalDeviceIds, toldBefore: null }, deps);
  return targets.length >= ALL_CALL_RATIO * all;
}

/** Fields of a message that waits for approval; it expires unless someone approves it. */
export function awaitingApproval(now: number, { withinMs }: TwoPersonRule) {
  return { stage: "approval", approval: "waiting", expiresAt: now + withinMs } as const;
}
