import type { Clock } from "../lib/clock.ts";
import { ConflictError, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { nameLocation } from "../places/location-names.ts";
import incidentActivities from "../resources/incidents/incident-activities.ts";
import incidentPlans from "../resources/incidents/incident-plans.ts";
import incidentResources from "../resources/incidents/incident-resources.ts";
import incidents from "../resources/incidents/incidents.ts";
import type { ResourceHooks, StoreReader } from "../store/store.ts";
import { copyPlanResources, resourcesByOwner } from "./incident-resources.ts";
import { rosteringOfPlan, validateRosterActivity } from "./incident-roster.ts";
import { type IncidentRow, ongoingIncident } from "./incident-start.ts";

const LEGAL_HOLD = sentence("conflict.the-incident-is-under-legal-hold-lift-the-hold-first");

/**
 * Sets the name of an incident, records its start and copies the files of its plan. Throws ConflictError for a second incident
 * if the plan allows one at a time.
 */
export const incidentHooks: ResourceHooks<typeof incidents> = {
  beforeWrite({ op, before, after }, tx, by) {
    if (op === "delete" && before?.legalHold) throw new ConflictError(LEGAL_HOLD, "legalHold");
    // Facts of another appliance are taken as they are; it has checked them.
    if (op !== "create" || !after || by.replicated) return;
    const plan = after.incidentPlanId ? tx.get(incidentPlans, after.incidentPlanId) : null;
    if (plan && !plan.allowMultipleActiveIncidents && ongoingIncident(tx, plan.id, after.drill)) {
      throw new ConflictError(sentence("conflict.an-incident-of-this-plan-is-in-progress-and-the"), "incidentPlanId");
    }
    after.name ??= plan?.name ?? "Incident";
    after.startedById ??= by.actor.userId;
    after.rostering = rosteringOfPlan(plan);
  },
  afterWrite({ op, after }, tx, by) {
    // Its steps and files are replicated by themselves.
    if (op !== "create" || !after || by.replicated) return;
    const inner = { actor: by.actor, scope: by.scope };
    const { id: incidentId, notificationId } = after;
    const started = { incidentId, notificationId, type: "start-incident" } as const;
    tx.create(incidentActivities, {}, inner, { ...started, userId: after.startedById });
    if (after.incidentPlanId) copyPlanResources(tx, after.incidentPlanId, after, inner);
  },
  present(rows, { reader, query }) {
    const sent = notificationTimes(reader, rows);
    const counts = query.includeNotificationCount === true ? notificationCounts(reader, rows) : null;
    const resources = query.includeResources === true ? resourcesByOwner(reader, incidentResources, rows) : null;
    return rows.map((row) => ({
      notificationCreatedAt: sent.get(row.notificationId ?? "") ?? null,
      ...(query.includeLocation === true ? { location: nameLocation(row, reader) } : {}),
      ...(counts ? { notificationCount: counts.get(row.pk) ?? 0 } : {}),
      ...(resources ? { resources: resources.get(row.id) ?? [] } : {}),
    }));
  },
};

/** Records who added a step; the end step ends the incident. Throws ConflictError for a second end. */
export function incidentActivityHooks(clock: Clock): ResourceHooks<typeof incidentActivities> {
  return {
    beforeWrite({ op, after }, tx, by) {
      if (op !== "create" || !after || by.replicated) return;
      after.userId ??= by.actor.userId;
      if (after.type === "start-incident" && !isFirstActivity(tx, after.incidentId)) {
        throw invalidValue("type", sentence("field.must-not-be-a-start-step-the-incident-has-already"));
      }
      if (after.type === "roster-status") validateRosterActivity(after, tx);
      if (after.type !== "end-incident") return;
      if (tx.get(incidents, after.incidentId)?.endedAt !== null)
        throw new ConflictError(sentence("conflict.the-incident-has-already-ended"));
      tx.update(incidents, after.incidentId, {}, { actor: by.actor, scope: by.scope }, { endedAt: clock.now() });
    },
  };
}

function isFirstActivity(reader: StoreReader, incidentId: string): boolean {
  return reader.find(incidentActivities, { incidentId }, 1).length === 0;
}

function notificationTimes(reader: StoreReader, rows: readonly IncidentRow[]): ReadonlyMap<string, string> {
  const ids = rows.flatMap(({ notificationId }) => notificationId ?? []);
  if (ids.length === 0) return new Map();
  const found = reader.all<{ id: string; at: number }>(
    "SELECT id, created_at AS at FROM notifications WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  );
  return new Map(found.map(({ id, at }) => [id, new Date(at).toISOString()]));
}

function notificationCounts(reader: StoreReader, rows: readonly IncidentRow[]): ReadonlyMap<number, number> {
  const found = reader.all<{ pk: number; n: number }>(
    `SELECT incident_pk AS pk, count(*) AS n FROM notifications
     WHERE incident_pk IN (SELECT value FROM json_each(?)) AND draft = 0 GROUP BY incident_pk`,
    JSON.stringify(rows.map(({ pk }) => pk)),
  );
  return new Map(found.map(({ pk, n }) => [pk, n]));
}
