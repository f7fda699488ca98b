import incidentPlans from "../resources/incidents/incident-plans.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import notifications from "../resources/notifications/notifications.ts";
import type { StoreReader } from "../store/store.ts";
import type { IncidentRow } from "./incident-start.ts";

/**
 * Ids of the templates that are offered in an incident: those of its plan, follow-ups only once something was sent for
 * it; none without a plan. @source decisions.md 8, `followUp`
 */
export function offeredTemplates(reader: StoreReader, { id, incidentPlanId }: IncidentRow): readonly string[] {
  const ids = incidentPlanId ? (reader.get(incidentPlans, incidentPlanId)?.messageTemplateIds ?? []) : [];
  if (reader.find(notifications, { incidentId: id, draft: false }, 1).length > 0) return ids;
  return ids.filter((template) => reader.get(messageTemplates, template)?.followUp === false);
}
