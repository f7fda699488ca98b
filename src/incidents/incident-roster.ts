import { ConflictError, invalidValue } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type incidentActivities from "../resources/incidents/incident-activities.ts";
import incidentPlans from "../resources/incidents/incident-plans.ts";
import incidents from "../resources/incidents/incidents.ts";
import users from "../resources/people/users.ts";
import siteRoles from "../resources/places/site-roles.ts";
import type { RowOf } from "../schema/resource.ts";
import type { AccessScope, ActorContext, StoreReader, Transaction } from "../store/store.ts";
import type { IncidentRow } from "./incident-start.ts";

type PlanRow = RowOf<typeof incidentPlans>;

/** A person to account for; `at` is epoch ms. Null if no status was reported yet. */
export interface RosterEntry {
  userId: string;
  name: string | null;
  status: string | null;
  location: string | null;
  at: number | null;
}

/** @source docs/decisions/0204-scenarios-incidents-and-places.md, Incidents */
const MAX_ROSTER_ENTRIES = 5_000;

/** The roles of a plan's roster must exist and be visible to the writer. Throws invalid-value. */
export function assertRosterRoles({ rostering }: PlanRow, tx: Transaction, by: ActorContext): void {
  for (const field of ["rosterMemberSiteRoleIds", "rosterManagerSiteRoleIds"] as const) {
    const unknownId = rostering?.[field]?.find((id) => !tx.get(siteRoles, id, by.scope));
    if (unknownId)
      throw invalidValue(
        `rostering.${field}`,
        sentence("field.no-site-role-with-the-id-id-was-found", { id: unknownId }),
      );
  }
}

/** Roles of the rosters of plans with their names, as far as the caller may read them. */
export function rosterRoles(
  rows: readonly PlanRow[],
  reader: StoreReader,
  scope: AccessScope,
): Record<string, unknown>[] {
  const rolesOf = (ids: readonly string[] | null | undefined) =>
    (ids ?? []).flatMap((id) => {
      const role = reader.get(siteRoles, id, scope);
      return role ? [{ id, name: role.name }] : [];
    });
  return rows.map(({ rostering }) => ({
    rosterMemberSiteRoles: rolesOf(rostering?.rosterMemberSiteRoleIds),
    rosterManagerSiteRoles: rolesOf(rostering?.rosterManagerSiteRoleIds),
  }));
}

/** Roster options of a plan, without the roles. */
export function rosteringOfPlan(plan: PlanRow | null): IncidentRow["rostering"] {
  if (!plan?.rostering) return null;
  const { type, statuses, locations } = plan.rostering;
  return { type: type ?? null, statuses: statuses ?? [], locations: locations ?? [] };
}

/**
 * Validates a step that reports a person `{userId, status, location}` and adds its text for the timeline. Throws ConflictError
 * for an incident without a roster, invalid-value.
 */
export function validateRosterActivity(step: RowOf<typeof incidentActivities>, tx: Transaction): void {
  const rostering = tx.get(incidents, step.incidentId)?.rostering;
  if (!rostering) throw new ConflictError(sentence("conflict.the-plan-of-the-incident-has-no-roster"), "type");
  const { userId, status, location } = (step.details ?? {}) as Record<string, unknown>;
  const user = isUuid(userId) ? tx.get(users, userId) : null;
  if (!user) throw invalidValue("details.userId", sentence("field.no-user-with-this-id-was-found"));
  const statuses = rostering.statuses ?? [];
  if (typeof status !== "string" || !statuses.includes(status))
    throw invalidValue("details.status", sentence("field.must-be-one-of-values", { values: statuses.join(", ") }));
  const places = rostering.locations ?? [];
  const isSaid = location !== undefined && location !== null;
  if (isSaid && !places.includes(location as string))
    throw invalidValue("details.location", sentence("field.must-be-one-of-values", { values: places.join(", ") }));
  const message = [`${user.name}: ${status}`, ...(isSaid ? [location as string] : [])].join(", ");
  step.details = { userId: user.id, status, location: isSaid ? location : null, message };
}

/**
 * People to account for at the site of an incident, by name, with their last status; then other people with a status. Without a
 * site: the role holders of all sites. @source docs/decisions/0204-scenarios-incidents-and-places.md, Incidents
 */
export function buildRoster(incident: IncidentRow, reader: StoreReader, now: number): RosterEntry[] {
  const plan = incident.incidentPlanId ? reader.get(incidentPlans, incident.incidentPlanId) : null;
  return reader.all<RosterEntry & Record<string, string | number | null>>(
    `WITH said AS (
       SELECT details ->> 'userId' AS userId, details ->> 'status' AS status, details ->> 'location' AS location,
         created_at AS at, row_number() OVER (PARTITION BY details ->> 'userId' ORDER BY pk DESC) AS nth
       FROM incident_activities WHERE incident_pk = ? AND type = 'roster-status'
     ),
     players AS (
       SELECT p.pk FROM site_recipients p JOIN site_roles r ON r.pk = p.site_role_pk
       LEFT JOIN sites s ON s.pk = p.site_pk
       WHERE r.id IN (SELECT value FROM json_each(?)) AND (? IS NULL OR s.id = ?)
     ),
     members AS (
       SELECT u.target AS pk FROM site_recipients__user_ids u WHERE u.owner IN (SELECT pk FROM players)
       UNION SELECT s.user_pk FROM site_recipients__distribution_list_ids l JOIN subscriptions s ON s.distribution_list_pk = l.target
         WHERE l.owner IN (SELECT pk FROM players) AND (s.subscription_end_date IS NULL OR s.subscription_end_date > ?)
       UNION SELECT u.pk FROM said JOIN users u ON u.id = said.userId
     )
     SELECT u.id AS userId, u.name, said.status, said.location, said.at
     FROM members m JOIN users u ON u.pk = m.pk LEFT JOIN said ON said.userId = u.id AND said.nth = 1
     ORDER BY u.name COLLATE NOCASE, u.pk LIMIT ${MAX_ROSTER_ENTRIES}`,
    incident.pk,
    JSON.stringify(plan?.rostering?.rosterMemberSiteRoleIds ?? []),
    incident.siteId,
    incident.siteId,
    now,
  );
}
