import incidentPlans from "../resources/incidents/incident-plans.ts";
import incidents from "../resources/incidents/incidents.ts";
import type notifications from "../resources/notifications/notifications.ts";
import type { RowOf, SystemValues } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks, StoreReader, Transaction } from "../store/store.ts";

/** Something that happened or is practised. */
export type IncidentRow = RowOf<typeof incidents>;

/** What starts an incident; all but the plan and the drill may be absent. */
export interface IncidentStart {
  planId: string;
  drill: boolean;
  /** What people call it; the plan's name unless given. */
  name?: string;
  scenarioId?: string | null;
  /** Id of the message that starts it, which need not be stored yet. */
  notificationId?: string | null;
  messageTemplateId?: string | null;
  location?: Partial<Pick<IncidentRow, "siteId" | "buildingId" | "floorId" | "zoneId">>;
}

/**
 * Starts an incident of a plan, inside the transaction that stores what starts it. own choice: where the plan allows one
 * incident at a time, what is sent joins the one that goes on, since refusing it would silence a message; drills and
 * live incidents are apart. Null when the plan is gone.
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
  // The key of the request stands for what started the incident.
  return tx.create(incidents, {}, { actor: by.actor, scope: by.scope }, system);
}

/** The incident of a plan that goes on, the oldest one; null for none. Drills and live incidents are apart. */
export function ongoingIncident(reader: StoreReader, incidentPlanId: string, drill: boolean): IncidentRow | null {
  return reader.find(incidents, { incidentPlanId, drill, endedAt: null }, 1)[0] ?? null;
}

/** A message with a plan starts its incident, or joins it, unless it belongs to one already; a preview starts nothing. */
export function withIncidentStart(own: ResourceHooks<typeof notifications>): ResourceHooks<typeof notifications> {
  return {
    ...own,
    beforeWrite(change, tx, by) {
      own.beforeWrite?.(change, tx, by);
      const { op, after } = change;
      if (op !== "create" || !after?.incidentPlanId || after.incidentId || after.draft) return;
      const { id: notificationId, incidentPlanId: planId, drill, messageTemplateId } = after;
      after.incidentId = startIncident(tx, { planId, drill, notificationId, messageTemplateId }, by)?.id ?? null;
    },
  };
}
