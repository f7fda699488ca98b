import { forbidden, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type bulkUploadLogs from "../resources/uploads/bulk-upload-logs.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { PresentContext, ResourceHooks, StoreReader } from "../store/store.ts";
import type { BulkUpload } from "./bulk-upload-run.ts";
import { canCreateRows, resolveUploadType } from "./upload-types.ts";

export interface BulkUploadHooksDeps {
  catalogue: Catalogue;
  /** Endpoint of this appliance. */
  endpointId(): string;
  baseUrl(): string;
}

/**
 * An upload is allowed for resource types that the caller may create, and for this appliance only; deleting an upload that is
 * being read cancels it. @source docs/decisions/0540-importers.md, Bulk uploads
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
        throw invalidValue("contentType", sentence("field.must-not-be-an-archive-upload-the-table-itself"));
      if (after.endpointId !== null && after.endpointId !== endpointId()) {
        throw invalidValue("endpointId", sentence("field.must-be-this-appliance"));
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

/** Serializes the domain of the upload with each log. */
export const bulkUploadLogHooks: ResourceHooks<typeof bulkUploadLogs> = {
  present(rows, context) {
    const ids = [...new Set(rows.map(({ bulkUploadId }) => bulkUploadId))];
    const uploads = context.reader.getByIds(bulkUploads, ids);
    const shown = createDomainPresenter(uploads, context);
    const byId = new Map(uploads.map((upload) => [upload.id, shown(upload)]));
    return rows.map(({ bulkUploadId }) => byId.get(bulkUploadId) ?? {});
  },
};

/** Serializes the domains of uploads; one query per page. */
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
