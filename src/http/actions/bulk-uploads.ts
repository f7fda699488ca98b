import bulkUploads from "../../resources/uploads/bulk-uploads.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { parseFileNameHeader } from "./file-name-header.ts";

const TABLE_TYPES = ["text/tab-separated-values", "text/csv", "application/octet-stream"] as const;

/**
 * File upload, commit and templates of bulk uploads.
 * @source docs/decisions/0013-other-resources.md, Bulk upload; docs/decisions/0042-api-contract.md,
 * `/v1/bulk-uploads`
 */
export const bulkUploadActions: readonly Action[] = [
  ...(["put", "post"] as const).map(
    (method): Action => ({
      method,
      at: "bulk-uploads/{bulkUploadId}/file",
      doc: "Uploads the table and starts processing. UTF-8; the header line contains field names; list items are separated by semicolons.",
      response: { kind: "row", resource: bulkUploads },
      binaryTypes: TABLE_TYPES,
      async handle(request) {
        const { id } = requireVisibleRow(request, bulkUploads, request.params.bulkUploadId ?? "");
        const given = { fileName: parseFileNameHeader(request.header("x-file-name")), by: request.by };
        return request.respondWithRow(
          bulkUploads,
          await request.deps.bulkUploads.acceptFile(id, request.readBytes(), given),
        );
      },
    }),
  ),
  {
    method: "post",
    at: "bulk-uploads/{bulkUploadId}/commit",
    doc: "Creates the rows of an upload whose test succeeded.",
    response: { kind: "row", resource: bulkUploads },
    async handle(request) {
      const { id } = requireVisibleRow(request, bulkUploads, request.params.bulkUploadId ?? "");
      return request.respondWithRow(bulkUploads, await request.deps.bulkUploads.commit(id, request.by));
    },
  },
  {
    method: "get",
    at: "bulk-uploads/templates/{resourceType}",
    doc: "Returns an empty table with all columns of the resource type.",
    response: { kind: "bytes", types: ["text/tab-separated-values"] },
    async handle(request) {
      const type = request.params.resourceType ?? "";
      return {
        type: "text/tab-separated-values; charset=utf-8",
        headers: { "Content-Disposition": `attachment; filename="${type}.tsv"` },
        body: request.deps.bulkUploads.template(type),
      };
    },
  },
];
