import { forbidden, invalidValue } from "../base/errors.ts";
import type bulkUploadLogs from "../resources/uploads/bulk-upload-logs.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { Behaviour, PresentContext, Reader } from "../store/store.ts";
import type { BulkUpload } from "./bulk-run.ts";
import { mayMake, uploadType } from "./upload-types.ts";

/** What the rules of uploads need. */
export interface UploadRules {
  catalogue: Catalogue;
  /** Id of this appliance. */
  endpointId(): string;
  baseUrl(): string;
}

/**
 * An upload can be announced of what the appliance knows and the caller may make. own choice: for this appliance alone, as
 * long as no other one is linked; deleting one that is being read calls it off.
 */
export function bulkUploadBehaviour({ catalogue, endpointId, baseUrl }: UploadRules): Behaviour<typeof bulkUploads> {
  return {
    beforeWrite({ op, after }, _tx, by) {
      if (op !== "create" || !after) return;
      if (!after.contentType.startsWith("text/"))
        throw invalidValue("contentType", "Archives are not taken; send the table.");
      if (after.endpointId !== null && after.endpointId !== endpointId()) {
        throw invalidValue("endpointId", "No other appliance can be reached.");
      }
      if (!mayMake(uploadType(after.resourceType, catalogue, endpointId()), by.scope)) throw forbidden();
      after.actingDomainId = by.scope.domainId;
    },
    present(rows, context) {
      const shown = domainShower(rows, context);
      return rows.map((row) => ({ url: `${baseUrl()}/api/v1/bulk-uploads/${row.id}/file`, ...shown(row) }));
    },
  };
}

/** Logs show the domain of their upload. */
export const bulkUploadLogBehaviour: Behaviour<typeof bulkUploadLogs> = {
  present(rows, context) {
    const ids = [...new Set(rows.map(({ bulkUploadId }) => bulkUploadId))];
    const uploads = context.reader.byIds(bulkUploads, ids);
    const shown = domainShower(uploads, context);
    const byId = new Map(uploads.map((upload) => [upload.id, shown(upload)]));
    return rows.map(({ bulkUploadId }) => byId.get(bulkUploadId) ?? {});
  },
};

/** What uploads show of their domains; one query a page. */
function domainShower(
  uploads: readonly BulkUpload[],
  { reader, query }: PresentContext,
): (upload: BulkUpload) => Record<string, unknown> {
  const domains = query.includeDomain === true ? domainsOf(uploads, reader) : null;
  return ({ actingDomainId }) => ({
    domainId: actingDomainId,
    ...(domains ? { domain: domains.get(actingDomainId ?? "") ?? null } : {}),
  });
}

function domainsOf(rows: readonly BulkUpload[], reader: Reader): ReadonlyMap<string, { id: string; name: string }> {
  const found = reader.all<{ id: string; name: string }>(
    "SELECT id, name FROM domains WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify([...new Set(rows.map(({ actingDomainId }) => actingDomainId))]),
  );
  return new Map(found.map((domain) => [domain.id, domain]));
}
