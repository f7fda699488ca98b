import { CallerError } from "../lib/errors.ts";
import { type SentenceCode, sentence } from "../lib/sentences/sentences.ts";
import { ownRecipients, RECIPIENTS_DELETED } from "../notifications/compose/own-recipients.ts";
import {
  drainQueue,
  type SystemMessage,
  type SystemMessageDeps,
  sendSystemMessageOnce,
} from "../notifications/engine/system-messages.ts";
import alarmActions from "../resources/alarms/alarm-actions.ts";
import alarmEvents from "../resources/alarms/alarm-events.ts";
import type { AlarmType } from "../resources/alarms/alarm-types.ts";
import alarms from "../resources/alarms/alarms.ts";
import { ADMINISTRATION_LIST_ID } from "../resources/lists/administration-list.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import type { NotificationSource } from "../resources/notifications/notification-sources.ts";
import type { StoreReader } from "../store/store.ts";
import { administrators } from "./administration-list.ts";

interface PendingAlarmAction {
  pk: number;
  id: string;
  action: string;
  event: string;
  reasons: string;
}

const SELECT_NEXT_PENDING =
  "SELECT pk, id, action, event, reasons FROM alarm_pending_actions WHERE pk > ? ORDER BY pk LIMIT 1";

/** Runs pending actions in order; one that fails is retried at the next run and does not block the others. */
export function runPendingAlarmActions(deps: SystemMessageDeps, signal: AbortSignal): Promise<void> {
  const failed = (err: unknown, { action }: PendingAlarmAction): void =>
    deps.log.error({ event: "alarm.action_failed", err, alarmActionId: action }, "alarm action failed, retrying");
  return drainQueue<PendingAlarmAction>(
    deps,
    { next: SELECT_NEXT_PENDING, take: (pending) => runAlarmAction(pending, deps), failed },
    signal,
  );
}

/** Notification and queue are two transactions: after a crash the idempotency key shows that the notification was sent. */
async function runAlarmAction(pending: PendingAlarmAction, deps: SystemMessageDeps): Promise<void> {
  const { store, log } = deps;
  const fact = { owner: "alarms", key: pending.id };
  await sendSystemMessageOnce(
    deps,
    fact,
    () => buildAlarmMessage(pending, store),
    (err) =>
      log.warn(
        { event: "alarm.action_refused", err, alarmActionId: pending.action },
        "alarm action not sent: no recipients",
      ),
  );
  await store.write((tx) => {
    tx.run("DELETE FROM alarm_pending_actions WHERE pk = ?", pending.pk);
  });
}

/** @source docs/decisions/0014-enumerations.md, notificationSource */
const NOTIFICATION_SOURCES: Readonly<Record<AlarmType, NotificationSource>> = {
  onprem_server_red: "onprem-server-red",
  onprem_server_yellow: "onprem-server-yellow",
  license_violation: "license-violation",
  phone_cache_update_failed: "phone-cache-update-failed",
  sis_loader_failed: "sis-loader-failed",
  speakers_unregistered: "speakers-unregistered",
  onprem_delta_sync_error_event: "onprem-delta-sync-error-event",
  token_expiration: "token-expiration",
  scenario_device_resolution_failed: "alarm",
  silent_devices: "alarm",
  missed_bells: "alarm",
  security_change: "alarm",
  login_attack: "alarm",
};

/** Titles of alarms in notifications. */
const ALARM_TITLES: Readonly<Record<AlarmType, SentenceCode>> = {
  onprem_server_red: "alarm.title-server-red",
  onprem_server_yellow: "alarm.title-server-yellow",
  license_violation: "alarm.title-licence",
  phone_cache_update_failed: "alarm.title-phones-unread",
  sis_loader_failed: "alarm.title-import-failed",
  speakers_unregistered: "alarm.title-speakers",
  onprem_delta_sync_error_event: "alarm.title-sync-failed",
  token_expiration: "alarm.title-credentials-expire",
  scenario_device_resolution_failed: "alarm.title-scenario-device",
  silent_devices: "alarm.title-devices-silent",
  missed_bells: "alarm.title-bells-missed",
  security_change: "alarm.title-security-change",
  login_attack: "alarm.title-login-attack",
};

/**
 * The notification of an action; null if the action or the alarm was deleted. Templates may use `{{alarm}}`, `{{status}}`,
 * `{{reasons}}` and `{{server}}`.
 */
function buildAlarmMessage(
  { action: actionId, event: eventId, reasons: json }: PendingAlarmAction,
  reader: StoreReader,
): SystemMessage | null {
  const action = reader.get(alarmActions, actionId);
  const event = reader.get(alarmEvents, eventId);
  const type = event && reader.get(alarms, event.alarmId)?.type;
  if (!action || !event || !type) return null;
  const reasons = (JSON.parse(json) as string[]).join("\n");
  const title = sentence(ALARM_TITLES[type]);
  const customVars = { alarm: title, status: event.status, reasons, server: event.endpointName ?? "" };
  const options = { source: NOTIFICATION_SOURCES[type], overrules: true };
  if (action.messageTemplateId) {
    const recipients = ownRecipients(action);
    if (recipients === null) throw new CallerError("invalid-value", RECIPIENTS_DELETED);
    const domainId = reader.get(messageTemplates, action.messageTemplateId)?.domainId ?? null;
    return {
      options,
      domainId,
      input: { messageTemplateId: action.messageTemplateId, customVars, ...recipients },
    };
  }
  const { endpointName: server } = event;
  const isOver = event.status === "OK";
  const whole =
    server === null
      ? sentence(isOver ? "alarm.subject-over" : "alarm.subject", { title })
      : sentence(isOver ? "alarm.subject-over-at" : "alarm.subject-at", { title, server });
  const subject = whole.slice(0, MAX_SUBJECT_LENGTH);
  const body = reasons.slice(0, MAX_BODY_LENGTH);
  return { options, domainId: null, input: { subject, body, ...administrationRecipients(reader) } };
}

const MAX_SUBJECT_LENGTH = 255;
const MAX_BODY_LENGTH = 10_000;

function administrationRecipients(reader: StoreReader): Record<string, readonly string[]> {
  const isUsed = reader.one(
    `SELECT 1 FROM subscriptions s JOIN distribution_lists l ON l.pk = s.distribution_list_pk WHERE l.id = ? LIMIT 1`,
    ADMINISTRATION_LIST_ID,
  );
  return isUsed ? { distributionListIds: [ADMINISTRATION_LIST_ID] } : { userIds: administrators(reader) };
}
