import { ConflictError, invalidValue, requiredValue } from "../lib/errors.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import incidentActivities from "../resources/incidents/incident-activities.ts";
import incidents from "../resources/incidents/incidents.ts";
import notifications from "../resources/notifications/notifications.ts";
import sites from "../resources/places/sites.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store } from "../store/store.ts";
import type { IncidentRow } from "./incident-start.ts";

/** A step of an incident. */
export type IncidentActivityRow = RowOf<typeof incidentActivities>;

/** What steps need. */
export interface IncidentActivityDeps {
  store: Store;
  notificationService: Pick<NotificationService, "sendAllClear">;
}

/** Most messages of one incident that an all-clear is for. own choice */
const MAX_MESSAGES = 1_000;

/**
 * Takes a step of an incident: a note, its end, or the all-clear, which is sent before it is noted. Whether somebody may
 * send is judged by the caller. Throws CallerError, ConflictError.
 */
export async function addIncidentActivity(
  incident: IncidentRow,
  input: Readonly<Record<string, unknown>>,
  by: ActorContext,
  needs: IncidentActivityDeps,
): Promise<IncidentActivityRow> {
  const step = { ...input, incidentId: incident.id };
  if (input.type !== "all-clear") return needs.store.create(incidentActivities, step, by);
  const { id: notificationId } = await sendAllClear(incident, parseAllClearText(input.details), by, needs);
  return needs.store.create(incidentActivities, step, by, { notificationId });
}

/**
 * One all-clear to everybody whom the incident's messages were for; it ends those that still go on. own choice: in the words
 * that were made ready with its first emergency, unless the sender says it in others; without any, it names the incident.
 * `ifNoneReady`: the sender's words are for want of those.
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
  if (!first) throw new ConflictError("Nothing was sent for the incident: there is nothing to be clear of.");
  const given = subject || null;
  const ready = first.allClearSubject || null;
  const words = {
    subject: (ifNoneReady ? (ready ?? given) : (given ?? ready)) ?? `All clear: ${incident.name ?? ""}`,
    body: ifNoneReady && (ready ?? first.allClearBody) ? null : body,
  };
  const alsoFor = sent.map(({ id }) => id);
  return notificationService.sendAllClear(first.id, words, by, { source: "incident", alsoFor, again });
}

/** Says where an incident is; parts of another site are no longer known. Throws CallerError. */
export async function setIncidentSite(
  incident: IncidentRow,
  siteId: unknown,
  by: ActorContext,
  store: Store,
): Promise<IncidentRow> {
  if (siteId === undefined || siteId === null || siteId === "") throw requiredValue("siteId");
  const site = typeof siteId === "string" ? store.get(sites, siteId, by.scope) : null;
  if (!site) throw invalidValue("siteId", "There is no such site.");
  const elsewhere = incident.siteId === site.id ? {} : { buildingId: null, floorId: null, zoneId: null };
  return store.write((tx) => tx.update(incidents, incident.id, {}, by, { siteId: site.id, ...elsewhere }));
}

interface AllClearText {
  subject: string | null;
  body: string | null;
  ifNoneReady: boolean;
  again: boolean;
}

/** The words of an all-clear, where its details give some. Throws CallerError. */
function parseAllClearText(details: unknown): AllClearText {
  const given = (typeof details === "object" && details !== null ? details : {}) as Record<string, unknown>;
  const { subject = null, body = null } = given;
  if (subject !== null && typeof subject !== "string") throw invalidValue("details", "`subject` is a text.");
  if (body !== null && typeof body !== "string") throw invalidValue("details", "`body` is a text.");
  return { subject, body, ifNoneReady: given.ifNoneReady === true, again: given.again === true };
}
