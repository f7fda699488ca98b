import { ConflictError, invalidValue, requiredValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import incidentActivities from "../resources/incidents/incident-activities.ts";
import incidents from "../resources/incidents/incidents.ts";
import notifications from "../resources/notifications/notifications.ts";
import sites from "../resources/places/sites.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store } from "../store/store.ts";
import type { IncidentRow } from "./incident-start.ts";

export type IncidentActivityRow = RowOf<typeof incidentActivities>;

export interface IncidentActivityDeps {
  store: Store;
  notificationService: Pick<NotificationService, "sendAllClear">;
}

/** Most notifications that one all-clear covers. @source docs/decisions/0204-scenarios-incidents-and-places.md, Incidents */
const MAX_MESSAGES = 1_000;

/**
 * Adds a step to an incident: a note, its end, or the all-clear, which is sent before it is recorded. The caller must check the
 * permission to send. Throws CallerError, ConflictError.
 */
export async function addIncidentActivity(
  incident: IncidentRow,
  input: Readonly<Record<string, unknown>>,
  by: ActorContext,
  deps: IncidentActivityDeps,
): Promise<IncidentActivityRow> {
  const step = { ...input, incidentId: incident.id };
  if (input.type !== "all-clear") return deps.store.create(incidentActivities, step, by);
  const { id: notificationId } = await sendAllClear(incident, parseAllClearText(input.details), by, deps);
  return deps.store.create(incidentActivities, step, by, { notificationId });
}

/**
 * Sends one all-clear to all recipients of the incident's notifications and ends those that are still active. Its text is the
 * all-clear prepared with the first emergency, unless the sender gives another one; without both it names the incident.
 * `ifNoneReady`: the sender's text is only a fallback. @source docs/decisions/0204-scenarios-incidents-and-places.md, Incidents
 */
async function sendAllClear(
  incident: IncidentRow,
  { subject, body, ifNoneReady, again }: AllClearText,
  by: ActorContext,
  { store, notificationService }: IncidentActivityDeps,
): Promise<RowOf<typeof notifications>> {
  const sent = store.find(notifications, { incidentId: incident.id, draft: false }, MAX_MESSAGES);
  const seen = sent.filter(({ id }) => store.get(notifications, id, by.scope) !== null);
  const first = seen.find(({ priority }) => priority === "critical") ?? seen[0];
  if (!first) throw new ConflictError(sentence("conflict.the-incident-has-no-notification-an-all-clear-requires-at"));
  const given = subject || null;
  const ready = first.allClearSubject || null;
  const text = {
    subject:
      (ifNoneReady ? (ready ?? given) : (given ?? ready)) ??
      sentence("message.all-clear", { subject: incident.name ?? "" }),
    body: ifNoneReady && (ready ?? first.allClearBody) ? null : body,
  };
  const alsoFor = sent.map(({ id }) => id);
  return notificationService.sendAllClear(first.id, text, by, { source: "incident", alsoFor, again });
}

/** Sets the site of an incident; narrower levels of another site are cleared. Throws CallerError. */
export async function setIncidentSite(
  incident: IncidentRow,
  siteId: unknown,
  by: ActorContext,
  store: Store,
): Promise<IncidentRow> {
  if (siteId === undefined || siteId === null || siteId === "") throw requiredValue("siteId");
  const site = typeof siteId === "string" ? store.get(sites, siteId, by.scope) : null;
  if (!site) throw invalidValue("siteId", sentence("field.the-site-was-not-found"));
  const elsewhere = incident.siteId === site.id ? {} : { buildingId: null, floorId: null, zoneId: null };
  return store.write((tx) => tx.update(incidents, incident.id, {}, by, { siteId: site.id, ...elsewhere }));
}

interface AllClearText {
  subject: string | null;
  body: string | null;
  ifNoneReady: boolean;
  again: boolean;
}

/** Text of an all-clear from its details, if given. Throws CallerError. */
function parseAllClearText(details: unknown): AllClearText {
  const given = (typeof details === "object" && details !== null ? details : {}) as Record<string, unknown>;
  const { subject = null, body = null } = given;
  if (subject !== null && typeof subject !== "string")
    throw invalidValue("details", sentence("field.subject-must-be-a-string"));
  if (body !== null && typeof body !== "string") throw invalidValue("details", sentence("field.body-must-be-a-string"));
  return { subject, body, ifNoneReady: given.ifNoneReady === true, again: given.again === true };
}
