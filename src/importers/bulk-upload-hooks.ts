import { forbidden, invalidValue } from "../lib/errors.ts";
import type bulkUploadLogs from "../resources/uploads/bulk-upload-logs.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { PresentContext, ResourceHooks, StoreReader } from "../store/store.ts";
import type { BulkUpload } from "./bulk-upload-run.ts";
import { canCreateRows, resolveUploadType } from "./upload-types.ts";

/** What the rules of uploads need. */
export interface BulkUploadHooksDeps {
  catalogue: Catalogue;
  /** Id of this appliance. */
  endpointId(): string;
  baseUrl(): string;
}

/**
 * An upload can be announced of what the appliance knows and the caller may make. own choice: for this appliance alone, as
 * long as no other one is linked; deleting one that is being read calls it off.
 */
export function bulkUploadHooks({
  catalogue,
  endpointId,
  baseUrl,
}: BulkUploadHooksDeps): ResourceHooks<typeof bulkUploads> {
  return {
    beforeWrite({ op, after }, _tx, by) {
      if (op !== "create" || !after) return;
      if (!after.contentType.startsWith("text/"))
        throw invalidValue("contentType", "Archives are not taken; send the table.");
      if (after.endpointId !== null && after.endpointId !== endpointId()) {
        throw invalidValue("endpointId", "No other appliance can be reached.");
      }
      if (!canCreateRows(resolveUploadType(after.resourceType, catalogue, endpointId()), by.scope)) throw forbidden();
      after.actingDomainId = by.scope.domainId;
    },
    present(rows, context) {
      const shown = createDomainPresenter(rows, context);
      return rows.map((row) => ({ url: `${baseUrl()}/api/v1/bulk-uploads/${row.id}/file`, ...shown(row) }));
    },
  };
}

/** Logs show the domain of their upload. */
export const bulkUploadLogHooks: ResourceHooks<typeof bulkUploadLogs> = {
  present(rows, context) {
    const ids = [...new Set(rows.map(({ bulkUploadId }) => bulkUploadId))];
    const uploads = context.reader.getByIds(bulkUploads, ids);
    const shown = createDomainPresenter(uploads, context);
    const byId = new Map(uploads.map((upload) => [upload.id, shown(upload)]));
    return rows.map(({ bulkUploadId }) => byId.get(bulkUploadId) ?? {});
  },
};

/** What uploads show of their domains; one query a page. */
function createDomainPresenter(
  uploads: readonly BulkUpload[],
  { reader, query }: PresentContext,
): (upload: BulkUpload) => Record<string, unknown> {
  const domains = query.includeDomain === true ? domainsOf(uploads, reader) : null;
  return ({ actingDomainId }) => ({
    domainId: actingDomainId,
    ...(domains ? { domain: domains.get(actingDomainId ?? "") ?? null } : {}),
  });
}

function domainsOf(
  rows: readonly BulkUpload[],
  reader: StoreReader,
): ReadonlyMap<string, { id: string; name: string }> {
  const found = reader.all<{ id: string; name: string }>(
    "SELECT id, name FROM domains WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify([...new Set(rows.map(({ actingDomainId }) => actingDomainId))]),
  );
  return new Map(found.map((domain) => [domain.id, domain]));
}
