import bulkUploads from "../../resources/uploads/bulk-uploads.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { parseFileNameHeader } from "./file-name-header.ts";

const TABLE_TYPES = ["text/tab-separated-values", "text/csv", "application/octet-stream"] as const;

/** Files of uploads and what can be done with them. @source service-api.md, /v1/bulk-uploads; decisions.md 13, Bulk upload */
export const bulkUploadActions: readonly Action[] = [
  ...(["put", "post"] as const).map(
    (method): Action => ({
      method,
      at: "bulk-uploads/{bulkUploadId}/file",
      doc: "Takes the table and begins to read it: UTF-8, its head line names fields, items of lists stand between semicolons.",
      response: { kind: "row", resource: bulkUploads },
      binaryTypes: TABLE_TYPES,
      async handle(request) {
        const { id } = requireVisibleRow(request, bulkUploads, request.params.bulkUploadId ?? "");
        const given = { fileName: parseFileNameHeader(request.header("x-file-name")), by: request.by };
        return request.respondWithRow(
          bulkUploads,
          await request.needs.bulkUploads.acceptFile(id, request.readBytes(), given),
        );
      },
    }),
  ),
  {
    method: "post",
    at: "bulk-uploads/{bulkUploadId}/commit",
    doc: "Makes the rows of an upload whose test succeeded.",
    response: { kind: "row", resource: bulkUploads },
    async handle(request) {
      const { id } = requireVisibleRow(request, bulkUploads, request.params.bulkUploadId ?? "");
      return request.respondWithRow(bulkUploads, await request.needs.bulkUploads.commit(id, request.by));
    },
  },
  {
    method: "get",
    at: "bulk-uploads/templates/{resourceType}",
    doc: "An empty table with all columns that its kind may have.",
    response: { kind: "bytes", types: ["text/tab-separated-values"] },
    async handle(request) {
      const type = request.params.resourceType ?? "";
      return {
        type: "text/tab-separated-values; charset=utf-8",
        headers: { "Content-Disposition": `attachment; filename="${type}.tsv"` },
        body: request.needs.bulkUploads.template(type),
      };
    },
  },
];
