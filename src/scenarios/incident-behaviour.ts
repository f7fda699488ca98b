import type { Clock } from "../base/clock.ts";
import { ConflictError, invalidValue } from "../base/errors.ts";
import { namePlace } from "../places/place-names.ts";
import incidentActivities from "../resources/incidents/incident-activities.ts";
import incidentPlans from "../resources/incidents/incident-plans.ts";
import incidentResources from "../resources/incidents/incident-resources.ts";
import incidents from "../resources/incidents/incidents.ts";
import type { Behaviour, Reader } from "../store/store.ts";
import { copyResources, resourcesOf } from "./incident-resources.ts";
import { checkRosterStep, rosteringFor } from "./incident-roster.ts";
import { type IncidentRow, ongoingOf } from "./incident-start.ts";

/**
 * An incident has a name, notes its begin and brings its plan's files. Throws ConflictError for a second one where the
 * plan allows one at a time.
 */
export const incidentBehaviour: Behaviour<typeof incidents> = {
  beforeWrite({ op, after }, tx, by) {
    if (op !== "create" || !after) return;
    const plan = after.incidentPlanId ? tx.get(incidentPlans, after.incidentPlanId) : null;
    if (plan && !plan.allowMultipleActiveIncidents && ongoingOf(tx, plan.id, after.drill)) {
      throw new ConflictError("An incident of this plan goes on, and the plan allows one at a time.", "incidentPlanId");
    }
    after.name ??= plan?.name ?? "Incident";
    after.startedById ??= by.actor.userId;
    after.rostering = rosteringFor(plan);
  },
  afterWrite({ op, after }, tx, by) {
    if (op !== "create" || !after) return;
    const inner = { actor: by.actor, scope: by.scope };
    const { id: incidentId, notificationId } = after;
    const started = { incidentId, notificationId, type: "start-incident" } as const;
    tx.create(incidentActivities, {}, inner, { ...started, userId: after.startedById });
    if (after.incidentPlanId) copyResources(tx, after.incidentPlanId, after, inner);
  },
  present(rows, { reader, query }) {
    const sent = sentAt(reader, rows);
    const counts = query.includeNotificationCount === true ? countsOf(reader, rows) : null;
    const resources = query.includeResources === true ? resourcesOf(reader, incidentResources, rows) : null;
    return rows.map((row) => ({
      notificationCreatedAt: sent.get(row.notificationId ?? "") ?? null,
      ...(query.includeLocation === true ? { location: namePlace(row, reader) } : {}),
      ...(counts ? { notificationCount: counts.get(row.pk) ?? 0 } : {}),
      ...(resources ? { resources: resources.get(row.id) ?? [] } : {}),
    }));
  },
};

/** Steps are noted with who took them; the end of an incident ends it, once. Throws ConflictError for a second end. */
export function incidentActivityBehaviour(clock: Clock): Behaviour<typeof incidentActivities> {
  return {
    beforeWrite({ op, after }, tx, by) {
      if (op !== "create" || !after) return;
      after.userId ??= by.actor.userId;
      if (after.type === "start-incident" && !isFirst(tx, after.incidentId)) {
        throw invalidValue("type", "An incident starts once.");
      }
      if (after.type === "roster-status") checkRosterStep(after, tx);
      if (after.type !== "end-incident") return;
      if (tx.get(incidents, after.incidentId)?.endedAt !== null) throw new ConflictError("The incident has ended.");
      tx.update(incidents, after.incidentId, {}, { actor: by.actor, scope: by.scope }, { endedAt: clock.now() });
    },
  };
}

function isFirst(reader: Reader, incidentId: string): boolean {
  return reader.find(incidentActivities, { incidentId }, 1).length === 0;
}

function sentAt(reader: Reader, rows: readonly IncidentRow[]): ReadonlyMap<string, string> {
  const ids = rows.flatMap(({ notificationId }) => notificationId ?? []);
  if (ids.length === 0) return new Map();
  const found = reader.all<{ id: string; at: number }>(
    "SELECT id, created_at AS at FROM notifications WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  );
  return new Map(found.map(({ id, at }) => [id, new Date(at).toISOString()]));
}

function countsOf(reader: Reader, rows: readonly IncidentRow[]): ReadonlyMap<number, number> {
  const found = reader.all<{ pk: number; n: number }>(
    `SELECT incident_pk AS pk, count(*) AS n FROM notifications
     WHERE incident_pk IN (SELECT value FROM json_each(?)) AND draft = 0 GROUP BY incident_pk`,
    JSON.stringify(rows.map(({ pk }) => pk)),
  );
  return new Map(found.map(({ pk, n }) => [pk, n]));
}
