import { RECIPIENT_FIELDS } from "../broadcast/compose.ts";
import { type MessageNeeds, type RoomMessage, sendOnce, workOff } from "../broadcast/queued-messages.ts";
import alarmActions from "../resources/alarms/alarm-actions.ts";
import alarmEvents from "../resources/alarms/alarm-events.ts";
import type { AlarmType } from "../resources/alarms/alarm-types.ts";
import alarms from "../resources/alarms/alarms.ts";
import type { NotificationSource } from "../resources/broadcasts/notification-sources.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Reader } from "../store/store.ts";
import { ACTION_RECIPIENTS } from "./action-behaviour.ts";
import { ADMINISTRATION_LIST_ID, administrators } from "./administration-list.ts";

interface Firing {
  pk: number;
  id: string;
  action: string;
  event: string;
  reasons: string;
}

const NEXT = "SELECT pk, id, action, event, reasons FROM alarm_firings WHERE pk > ? ORDER BY pk LIMIT 1";

/** Takes the actions that wait, in order; one that fails stays for the next time and holds up nobody. */
export function takeFirings(needs: MessageNeeds, signal: AbortSignal): Promise<void> {
  const failed = (err: unknown, { action }: Firing): void =>
    needs.log.error({ err, alarmActionId: action }, "an action of an alarm could not be taken");
  return workOff<Firing>(needs, { next: NEXT, take: (firing) => takeFiring(firing, needs), failed }, signal);
}

/** Message and queue are two transactions: the key of the first tells after a crash that it was sent. */
async function takeFiring(firing: Firing, needs: MessageNeeds): Promise<void> {
  const { store, log } = needs;
  const fact = { owner: "alarms", key: firing.id };
  await sendOnce(
    needs,
    fact,
    () => messageOf(firing, store),
    (err) => log.warn({ err, alarmActionId: firing.action }, "an action of an alarm had nobody to notify"),
  );
  await store.write((tx) => {
    tx.run("DELETE FROM alarm_firings WHERE pk = ?", firing.pk);
  });
}

/** @source decisions.md 14, notificationSource */
const SOURCES: Readonly<Record<AlarmType, NotificationSource>> = {
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
const TITLES: Readonly<Record<AlarmType, string>> = {
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
function messageOf({ action: actionId, event: eventId, reasons: json }: Firing, reader: Reader): RoomMessage | null {
  const action = reader.get(alarmActions, actionId);
  const event = reader.get(alarmEvents, eventId);
  const type = event && reader.get(alarms, event.alarmId)?.type;
  if (!action || !event || !type) return null;
  const reasons = (JSON.parse(json) as string[]).join("\n");
  const customVars = { alarm: TITLES[type], status: event.status, reasons, server: event.endpointName ?? "" };
  const options = { source: SOURCES[type], overrules: true };
  if (action.messageTemplateId) {
    const domainId = reader.get(messageTemplates, action.messageTemplateId)?.domainId ?? null;
    return {
      options,
      domainId,
      input: { messageTemplateId: action.messageTemplateId, customVars, ...recipientsOf(action) },
    };
  }
  const place = event.endpointName === null ? "" : ` (${event.endpointName})`;
  const isOver = event.status === "OK";
  const subject = `${isOver ? "Over" : "Alarm"}: ${TITLES[type]}${place}`.slice(0, MOST_SUBJECT);
  const body = reasons.slice(0, MOST_BODY);
  return { options, domainId: null, input: { subject, body, ...administrationOf(reader) } };
}

const MOST_SUBJECT = 255;
const MOST_BODY = 10_000;

/** Whom the action names stands instead of whom the template names. */
function recipientsOf(action: RowOf<typeof alarmActions>): Record<string, readonly string[]> {
  if (ACTION_RECIPIENTS.every((field) => action[field].length === 0)) return {};
  return Object.fromEntries(RECIPIENT_FIELDS.map((field) => [field, action[field]]));
}

function administrationOf(reader: Reader): Record<string, readonly string[]> {
  const isUsed = reader.one(
    `SELECT 1 FROM subscriptions s JOIN distribution_lists l ON l.pk = s.distribution_list_pk WHERE l.id = ? LIMIT 1`,
    ADMINISTRATION_LIST_ID,
  );
  return isUsed ? { distributionListIds: [ADMINISTRATION_LIST_ID] } : { userIds: administrators(reader) };
}
