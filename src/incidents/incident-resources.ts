import { requiredValue } from "../lib/errors.ts";
import incidentPlanResources from "../resources/incidents/incident-plan-resources.ts";
import type incidentPlans from "../resources/incidents/incident-plans.ts";
import incidentResources from "../resources/incidents/incident-resources.ts";
import type incidents from "../resources/incidents/incidents.ts";
import { tableName } from "../schema/catalogue.ts";
import type { RowBase, RowOf } from "../schema/resource.ts";
import { UploadedFile } from "../schema/uploaded-file.ts";
import type { ActorContext, ResourceHooks, StoreReader, Transaction } from "../store/store.ts";
import { assertRosterRoles, rosterRoles } from "./incident-roster.ts";

type IncidentResourceRow = RowOf<typeof incidentPlanResources> | RowOf<typeof incidentResources>;
type IncidentResourceType = typeof incidentPlanResources | typeof incidentResources;

/** A link requires an address, a file its content. Hooks for resources of plans and of incidents. */
export function incidentResourceHooks<R extends IncidentResourceType>(_family: R): ResourceHooks<R> {
  return {
    beforeWrite({ after }) {
      const row = after as IncidentResourceRow | null;
      if (row?.type === "hyperlink" && row.hyperlink === null) throw requiredValue("hyperlink");
      if (row?.type === "file" && row.file === null) throw requiredValue("file");
    },
    present: (rows) => (rows as readonly IncidentResourceRow[]).map(fileInfo),
  };
}

/** Validates the roles of incident plans; serializes roles, files and links if requested. */
export const incidentPlanHooks: ResourceHooks<typeof incidentPlans> = {
  beforeWrite({ after, given }, tx, by) {
    if (after && given.has("rostering")) assertRosterRoles(after, tx, by);
  },
  present(rows, { reader, query, scope }) {
    const resources = query.includeResources === true ? resourcesByOwner(reader, incidentPlanResources, rows) : null;
    const roles = query.includeRostering === true ? rosterRoles(rows, reader, scope) : null;
    return rows.map(({ id }, at) => ({
      ...roles?.[at],
      ...(resources ? { resources: resources.get(id) ?? [] } : {}),
    }));
  },
};

/** Copies the files and links of a plan to an incident, so that later changes of the plan do not alter the record. */
export function copyPlanResources(
  tx: Transaction,
  planId: string,
  incident: RowOf<typeof incidents>,
  by: ActorContext,
): void {
  for (const { name, type, hyperlink, file } of tx.find(incidentPlanResources, { incidentPlanId: planId })) {
    const bytes = file ? { file: new UploadedFile(file) } : {};
    tx.create(incidentResources, { name, type, hyperlink, ...bytes }, by, { incidentId: incident.id });
  }
}

/** Files and links of plans or incidents, oldest first, by owner id; two queries. */
export function resourcesByOwner(
  reader: StoreReader,
  family: IncidentResourceType,
  owners: readonly RowBase[],
): ReadonlyMap<string, Record<string, unknown>[]> {
  const column = family === incidentResources ? "incident_pk" : "incident_plan_pk";
  const keys = reader.all<{ pk: number }>(
    `SELECT pk FROM ${tableName(family)} WHERE ${column} IN (SELECT value FROM json_each(?))`,
    JSON.stringify(owners.map(({ pk }) => pk)),
  );
  const pks = keys.map(({ pk }) => pk);
  const rows: IncidentResourceRow[] = reader.getByPks<IncidentResourceType>(family, pks);
  const found = new Map<string, Record<string, unknown>[]>();
  for (const row of rows.sort((a, b) => a.pk - b.pk)) {
    const owner = "incidentId" in row ? row.incidentId : row.incidentPlanId;
    const list = found.get(owner) ?? [];
    found.set(owner, list);
    const { id, name, type, hyperlink } = row;
    list.push({ id, name, type, hyperlink, ...fileInfo(row) });
  }
  return found;
}

function fileInfo({ file }: IncidentResourceRow): Record<string, unknown> {
  return { fileName: file?.fileName ?? null, contentType: file?.contentType ?? null, size: file?.size ?? 0 };
}
