import incidentPlans from "../resources/incidents/incident-plans.ts";
import incidents from "../resources/incidents/incidents.ts";
import type notifications from "../resources/notifications/notifications.ts";
import type { RowOf, SystemValues } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks, StoreReader, Transaction } from "../store/store.ts";

export type IncidentRow = RowOf<typeof incidents>;

/** Parameters of an incident; all except the plan and the drill are optional. */
export interface IncidentStart {
  planId: string;
  drill: boolean;
  /** Name of the incident; the plan's name by default. */
  name?: string;
  scenarioId?: string | null;
  /** Id of the notification that starts it, which need not be stored yet. */
  notificationId?: string | null;
  messageTemplateId?: string | null;
  location?: Partial<Pick<IncidentRow, "siteId" | "buildingId" | "floorId" | "zoneId">>;
}

/**
 * Starts an incident of a plan in the caller's transaction. If the plan allows one incident at a time and one is in progress, the
 * notification joins it, since a refusal would suppress the notification; drills and live incidents are separate. Null if the
 * plan was deleted. @source docs/decisions/0204-scenarios-incidents-and-places.md, Incidents
 */
export function startIncident(tx: Transaction, start: IncidentStart, by: ActorContext): IncidentRow | null {
  const { planId, drill, name, scenarioId = null, notificationId = null, messageTemplateId = null } = start;
  const plan = tx.get(incidentPlans, planId);
  if (!plan) return null;
  const ongoing = plan.allowMultipleActiveIncidents ? null : ongoingIncident(tx, planId, drill);
  if (ongoing) return ongoing;
  const system: SystemValues<typeof incidents> = {
    ...start.location,
    ...{ incidentPlanId: planId, drill, scenarioId, notificationId, messageTemplateId },
    ...(name === undefined ? {} : { name }),
  };
  // The idempotency key of the request belongs to the notification, not to the incident.
  return tx.create(incidents, {}, { actor: by.actor, scope: by.scope }, system);
}

/** The oldest incident of a plan in progress; null if there is none. Drills and live incidents are separate. */
export function ongoingIncident(reader: StoreReader, incidentPlanId: string, drill: boolean): IncidentRow | null {
  return reader.find(incidents, { incidentPlanId, drill, endedAt: null }, 1)[0] ?? null;
}

/** A notification with a plan starts or joins an incident, unless it belongs to one already; a dry run starts none. */
export function withIncidentStart(own: ResourceHooks<typeof notifications>): ResourceHooks<typeof notifications> {
  return {
    ...own,
    beforeWrite(change, tx, by) {
      own.beforeWrite?.(change, tx, by);
      const { op, after } = change;
      // The appliance that sends it starts the incident, which is replicated by itself.
      if (op !== "create" || !after?.incidentPlanId || after.incidentId || after.draft || by.replicated) return;
      const { id: notificationId, incidentPlanId: planId, drill, messageTemplateId } = after;
      after.incidentId = startIncident(tx, { planId, drill, notificationId, messageTemplateId }, by)?.id ?? null;
    },
  };
}
