import { requiredValue } from "../base/errors.ts";
import incidentPlanResources from "../resources/incidents/incident-plan-resources.ts";
import type incidentPlans from "../resources/incidents/incident-plans.ts";
import incidentResources from "../resources/incidents/incident-resources.ts";
import type incidents from "../resources/incidents/incidents.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { RowBase, RowOf } from "../schema/resource.ts";
import { UploadedFile } from "../schema/uploaded-file.ts";
import type { Behaviour, By, Reader, Transaction } from "../store/store.ts";
import { requireRosterRoles, rosterRoles } from "./incident-roster.ts";

type ResourceRow = RowOf<typeof incidentPlanResources> | RowOf<typeof incidentResources>;
type ResourceFamily = typeof incidentPlanResources | typeof incidentResources;

/** A link has an address and a file its bytes. For plans' and incidents' resources alike. */
export function resourceBehaviourOf<R extends ResourceFamily>(_family: R): Behaviour<R> {
  return {
    beforeWrite({ after }) {
      const row = after as ResourceRow | null;
      if (row?.type === "hyperlink" && row.hyperlink === null) throw requiredValue("hyperlink");
      if (row?.type === "file" && row.file === null) throw requiredValue("file");
    },
    present: (rows) => (rows as readonly ResourceRow[]).map(fileFacts),
  };
}

/** Plans name roles that there are, and show these, their files and links where they are asked for. */
export const incidentPlanBehaviour: Behaviour<typeof incidentPlans> = {
  beforeWrite({ after, given }, tx, by) {
    if (after && given.has("rostering")) requireRosterRoles(after, tx, by);
  },
  present(rows, { reader, query, scope }) {
    const resources = query.includeResources === true ? resourcesOf(reader, incidentPlanResources, rows) : null;
    const roles = query.includeRostering === true ? rosterRoles(rows, reader, scope) : null;
    return rows.map(({ id }, at) => ({
      ...roles?.[at],
      ...(resources ? { resources: resources.get(id) ?? [] } : {}),
    }));
  },
};

/** Copies a plan's files and links to an incident, so that the plan may change while the record stays. */
export function copyResources(tx: Transaction, planId: string, incident: RowOf<typeof incidents>, by: By): void {
  for (const { name, type, hyperlink, file } of tx.find(incidentPlanResources, { incidentPlanId: planId })) {
    const bytes = file ? { file: new UploadedFile(file) } : {};
    tx.create(incidentResources, { name, type, hyperlink, ...bytes }, by, { incidentId: incident.id });
  }
}

/** The files and links of plans or incidents, oldest first, by the owner's id; two queries. */
export function resourcesOf(
  reader: Reader,
  family: ResourceFamily,
  owners: readonly RowBase[],
): ReadonlyMap<string, Record<string, unknown>[]> {
  const column = family === incidentResources ? "incident_pk" : "incident_plan_pk";
  const keys = reader.all<{ pk: number }>(
    `SELECT pk FROM ${tableOf(family)} WHERE ${column} IN (SELECT value FROM json_each(?))`,
    JSON.stringify(owners.map(({ pk }) => pk)),
  );
  const pks = keys.map(({ pk }) => pk);
  const rows: ResourceRow[] = reader.byPks<ResourceFamily>(family, pks);
  const found = new Map<string, Record<string, unknown>[]>();
  for (const row of rows.sort((a, b) => a.pk - b.pk)) {
    const owner = "incidentId" in row ? row.incidentId : row.incidentPlanId;
    const list = found.get(owner) ?? [];
    found.set(owner, list);
    const { id, name, type, hyperlink } = row;
    list.push({ id, name, type, hyperlink, ...fileFacts(row) });
  }
  return found;
}

function fileFacts({ file }: ResourceRow): Record<string, unknown> {
  return { fileName: file?.fileName ?? null, contentType: file?.contentType ?? null, size: file?.size ?? 0 };
}
