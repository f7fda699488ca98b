import { RECIPIENT_FIELDS } from "../notifications/compose/message-builder.ts";
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
import messageTemplates from "../resources/messages/message-templates.ts";
import type { NotificationSource } from "../resources/notifications/notification-sources.ts";
import type { RowOf } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";
import { ADMINISTRATION_LIST_ID, administrators } from "./administration-list.ts";
import { ACTION_RECIPIENTS } from "./alarm-action-hooks.ts";

interface PendingAlarmAction {
  pk: number;
  id: string;
  action: string;
  event: string;
  reasons: string;
}

const SELECT_NEXT_PENDING =
  "SELECT pk, id, action, event, reasons FROM alarm_pending_actions WHERE pk > ? ORDER BY pk LIMIT 1";

/** Takes the actions that wait, in order; one that fails stays for the next time and holds up nobody. */
export function runPendingAlarmActions(needs: SystemMessageDeps, signal: AbortSignal): Promise<void> {
  const failed = (err: unknown, { action }: PendingAlarmAction): void =>
    needs.log.error({ err, alarmActionId: action }, "an action of an alarm could not be taken");
  return drainQueue<PendingAlarmAction>(
    needs,
    { next: SELECT_NEXT_PENDING, take: (firing) => runAlarmAction(firing, needs), failed },
    signal,
  );
}

/** Message and queue are two transactions: the key of the first tells after a crash that it was sent. */
async function runAlarmAction(firing: PendingAlarmAction, needs: SystemMessageDeps): Promise<void> {
  const { store, log } = needs;
  const fact = { owner: "alarms", key: firing.id };
  await sendSystemMessageOnce(
    needs,
    fact,
    () => buildAlarmMessage(firing, store),
    (err) => log.warn({ err, alarmActionId: firing.action }, "an action of an alarm had nobody to notify"),
  );
  await store.write((tx) => {
    tx.run("DELETE FROM alarm_pending_actions WHERE pk = ?", firing.pk);
  });
}

/** @source decisions.md 14, notificationSource */
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
};

/** What each alarm is called in a message without a template. own choice */
const ALARM_TITLES: Readonly<Record<AlarmType, string>> = {
  onprem_server_red: "Server severely degraded",
  onprem_server_yellow: "Server degraded",
  license_violation: "Licence violated",
  phone_cache_update_failed: "Phones could not be read from the call manager",
  sis_loader_failed: "Import of people failed",
  speakers_unregistered: "Speakers are not registered",
  onprem_delta_sync_error_event: "Synchronisation failed",
  token_expiration: "Credentials expire",
  scenario_device_resolution_failed: "A scenario was started by an unknown device",
};

/**
 * The message of an action, null when action or alarm are gone. own choice: `{{alarm}}`, `{{status}}`, `{{reasons}}` and
 * `{{server}}` stand for what happened.
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
  const customVars = { alarm: ALARM_TITLES[type], status: event.status, reasons, server: event.endpointName ?? "" };
  const options = { source: NOTIFICATION_SOURCES[type], overrules: true };
  if (action.messageTemplateId) {
    const domainId = reader.get(messageTemplates, action.messageTemplateId)?.domainId ?? null;
    return {
      options,
      domainId,
      input: { messageTemplateId: action.messageTemplateId, customVars, ...actionRecipients(action) },
    };
  }
  const place = event.endpointName === null ? "" : ` (${event.endpointName})`;
  const isOver = event.status === "OK";
  const subject = `${isOver ? "Over" : "Alarm"}: ${ALARM_TITLES[type]}${place}`.slice(0, MAX_SUBJECT_LENGTH);
  const body = reasons.slice(0, MAX_BODY_LENGTH);
  return { options, domainId: null, input: { subject, body, ...administrationRecipients(reader) } };
}

const MAX_SUBJECT_LENGTH = 255;
const MAX_BODY_LENGTH = 10_000;

/** Whom the action names stands instead of whom the template names. */
function actionRecipients(action: RowOf<typeof alarmActions>): Record<string, readonly string[]> {
  if (ACTION_RECIPIENTS.every((field) => action[field].length === 0)) return {};
  return Object.fromEntries(RECIPIENT_FIELDS.map((field) => [field, action[field]]));
}

function administrationRecipients(reader: StoreReader): Record<string, readonly string[]> {
  const isUsed = reader.one(
    `SELECT 1 FROM subscriptions s JOIN distribution_lists l ON l.pk = s.distribution_list_pk WHERE l.id = ? LIMIT 1`,
    ADMINISTRATION_LIST_ID,
  );
  return isUsed ? { distributionListIds: [ADMINISTRATION_LIST_ID] } : { userIds: administrators(reader) };
}
