import incidentPlans from "../resources/incidents/incident-plans.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import notifications from "../resources/notifications/notifications.ts";
import type { StoreReader } from "../store/store.ts";
import type { IncidentRow } from "./incident-start.ts";

/**
 * Ids of the templates that an incident offers: those of its plan, follow-ups only after a first notification; none without a
 * plan. @source docs/decisions/0008-notifications-and-templates.md
 */
export function offeredTemplates(reader: StoreReader, { id, incidentPlanId }: IncidentRow): readonly string[] {
  const ids = incidentPlanId ? (reader.get(incidentPlans, incidentPlanId)?.messageTemplateIds ?? []) : [];
  if (reader.find(notifications, { incidentId: id, draft: false }, 1).length > 0) return ids;
  return ids.filter((template) => reader.get(messageTemplates, template)?.followUp === false);
}
