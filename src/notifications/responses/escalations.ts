import { CallerError } from "../../lib/errors.ts";
import { asGiven, type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import escalationRules from "../../resources/confirmations/escalation-rules.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { RowOf } from "../../schema/resource.ts";
import { UploadedFile } from "../../schema/uploaded-file.ts";
import type { ActorContext, Transaction } from "../../store/store.ts";
import { type NotificationRow, RECIPIENT_FIELDS } from "../compose/message-builder.ts";
import { type ActivityValues, addActivity } from "../engine/activity-log.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";
import type { NotificationContext, OutgoingNotification } from "../notification-service.ts";
import {
  completeTimer,
  type NotificationTimer,
  recordTimerDecision,
  scheduleTimer,
  type TimerHandler,
} from "./timers.ts";

type EscalationRule = RowOf<typeof escalationRules>;

/** `send` stores messages in one transaction and carries them out. */
export type EscalationDeps = Pick<PipelineStageDeps, "store" | "clock" | "by" | "endpointId" | "laneOf"> & {
  send(
    messages: readonly OutgoingNotification[],
    by: ActorContext,
    createContext: (tx: Transaction) => NotificationContext,
  ): Promise<unknown>;
};

/**
 * A rule that is later than this is skipped. @source docs/decisions/0016-notification-engine.md, Confirmations and
 * escalation
 */
const MAX_DELAY_MS = 10 * 60_000;

/** Schedules the escalation rules of a message's request, in the transaction that accepts the message. */
export function scheduleEscalations(tx: Transaction, row: NotificationRow): void {
  if (row.confirmationRequestId === null) return;
  const sentAt = Math.max(row.createdAt, row.heldUntil ?? 0);
  for (const { id, delay } of tx.find(escalationRules, { confirmationRequestId: row.confirmationRequestId })) {
    scheduleTimer(tx, row, { kind: "escalation", ref: id, at: sentAt + Math.max(0, delay) * 1_000 });
  }
}

/**
 * Evaluates a rule once its delay is over, and sends its message exactly once, also across a crash between the two. A
 * skipped rule is logged: one that is too late, was deleted, or has no recipients, and one whose message was aborted.
 * The rule of an expired message is evaluated. @source docs/decisions/0008-notifications-and-templates.md, Confirmation
 * requests; docs/decisions/0016-notification-engine.md, Confirmations and escalation
 */
export function createEscalationHandler(deps: EscalationDeps): TimerHandler {
  const { store, clock } = deps;
  return async (due) => {
    const known = store.get(notifications, due.notificationId);
    const lane = deps.laneOf(known?.priorityLevel ?? 5);
    const fires = await store.write((tx) => evaluateRule(tx, due, clock.now(), deps), lane);
    const row = store.get(notifications, due.notificationId);
    const rule = store.get(escalationRules, due.ref);
    if (!fires || !row || !rule) return;
    try {
      await escalate(row, rule, due, deps);
    } catch (error) {
      if (!(error instanceof CallerError)) throw error;
      await store.write((tx) => skip(tx, due, asGiven(error.message), deps), lane);
    }
  };
}

/** True when the rule fires. */
function evaluateRule(tx: Transaction, due: NotificationTimer, now: number, deps: EscalationDeps): boolean {
  const row = tx.get(notifications, due.notificationId);
  const rule = tx.get(escalationRules, due.ref);
  const why = skipReason(row, rule, due.at, now);
  if (why !== null || !row || !rule) {
    if (why !== null) skip(tx, due, why, deps);
    return false;
  }
  if (due.decided !== null) return true;
  const count = countAnswers(tx, row.pk, rule.optionLabel);
  const fires = COMPARISONS[rule.comparison](count, rule.comparisonValue);
  if (fires) recordTimerDecision(tx, due, String(count));
  else completeTimer(tx, due);
  const message = sentence(fires ? "activity.escalated" : "activity.not-escalated", {
    option: JSON.stringify(rule.optionLabel),
    count,
    seconds: rule.delay,
  });
  logActivity(tx, due, "info", { message, count, escalationRuleId: rule.id }, deps);
  return fires;
}

function skipReason(
  row: NotificationRow | null,
  rule: EscalationRule | null,
  at: number,
  now: number,
): Sentence | null {
  if (!row || !rule) return sentence("activity.rule-deleted");
  if (row.abortedAt !== null) return sentence("activity.rule-ended");
  if (now - at > MAX_DELAY_MS) return sentence("activity.rule-too-late");
  return null;
}

const COMPARISONS: Readonly<Record<EscalationRule["comparison"], (count: number, value: number) => boolean>> = {
  GT: (count, value) => count > value,
  LT: (count, value) => count < value,
  EQ: (count, value) => count === value,
  NE: (count, value) => count !== value,
};

function countAnswers(tx: Transaction, notification: number, option: string): number {
  const sql = "SELECT n FROM notification_counters WHERE notification = ? AND name = ?";
  return tx.one<{ n: number }>(sql, notification, `answer:${option}`)?.n ?? 0;
}

/** The escalation has the priority, tone, profile and speech settings of the message it follows from. */
async function escalate(
  row: NotificationRow,
  rule: EscalationRule,
  due: NotificationTimer,
  deps: EscalationDeps,
): Promise<void> {
  const { subject, body, image, audio } = rule;
  const { priority, drill, customVars, alertTone, notificationProfileId, ttsVoiceId, ttsSpeed } = row;
  const input = {
    ...{ subject, body, priority, drill, customVars, alertTone, notificationProfileId, ttsVoiceId, ttsSpeed },
    ttsType: row.ttsType?.startsWith("custom-") ? "subject-and-body" : row.ttsType,
    ...Object.fromEntries(RECIPIENT_FIELDS.map((field) => [field, rule[field]])),
    ...(image && { image: new UploadedFile(image) }),
    ...(audio && { audio: new UploadedFile(audio) }),
  };
  const options = { source: "confirmation-request-escalation-rule", overrules: true } as const;
  const by = { ...deps.by, scope: { ...deps.by.scope, domainId: row.domainId } };
  await deps.send([{ input, options }], by, (tx) => {
    if (!completeTimer(tx, due)) throw new CallerError("conflict", sentence("error.the-message-was-sent-already"));
    return { parentNotificationId: row.id, incidentId: row.incidentId, escalationRuleId: rule.id };
  });
}

function skip(tx: Transaction, due: NotificationTimer, message: Sentence, deps: EscalationDeps): void {
  if (!completeTimer(tx, due)) return;
  logActivity(tx, due, "escalation-rule-skipped", { message, escalationRuleId: due.ref }, deps);
}

function logActivity(
  tx: Transaction,
  { notificationId }: NotificationTimer,
  type: "info" | "escalation-rule-skipped",
  details: ActivityValues,
  { by, endpointId }: EscalationDeps,
): void {
  addActivity(tx, { notificationId, type, endpointId: endpointId(), details }, by);
}
