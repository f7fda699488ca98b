import bulkUploads from "../../resources/uploads/bulk-uploads.ts";
import { timestamp, uuid } from "../../schema/field.ts";
import { type Action, ANY_CONTENT_TYPE, jsonResponse, requireVisibleRow } from "../action.ts";
import { openUploadLink, signUploadLink } from "../upload-links.ts";
import { addMembers } from "./add-members.ts";
import { parseFileNameHeader } from "./file-name-header.ts";

const TABLE_TYPES = ["text/tab-separated-values", "text/csv", "application/octet-stream"] as const;

const URL_EXPIRES_AT = timestamp("Until when `url` accepts the file; null for `url` that needs credentials.");
const ACCEPTED = { id: uuid("Id of the upload.", { required: true }), status: bulkUploads.fields.status };

/**
 * File upload, commit and templates of bulk uploads.
 * @source docs/decisions/0013-other-resources.md, Bulk upload; docs/decisions/0042-api-contract.md,
 * `/v1/bulk-uploads`
 */
export const bulkUploadActions: readonly Action[] = [
  {
    method: "post",
    at: "bulk-uploads",
    doc: "Announces an upload. The file is sent to the returned `url` with PUT or POST, without credentials.",
    response: { kind: "row", resource: bulkUploads, with: { urlExpiresAt: URL_EXPIRES_AT } },
    accepts: bulkUploads.fields,
    async handle(request) {
      const { deps, by } = request;
      const row = await deps.store.create(bulkUploads, request.body, by);
      const response = await request.respondWithRow(bulkUploads, row);
      const link = signUploadLink(row, by, deps);
      if (!link) return response;
      const { url } = JSON.parse(response.body as string) as { url: string };
      return addMembers(response, {
        url: new URL(`/api/v1/bulk-upload-files/${link.token}`, url).href,
        urlExpiresAt: new Date(link.expiresAt).toISOString(),
      });
    },
  },
  ...(["put", "post"] as const).map(
    (method): Action => ({
      method,
      at: "bulk-upload-files/{token}",
      doc: "Uploads the table to the URL of a new upload, as `/bulk-uploads/{bulkUploadId}/file` without credentials.",
      response: { kind: "members", fields: ACCEPTED },
      permission: "open",
      binaryTypes: [ANY_CONTENT_TYPE],
      async handle(request) {
        const { id, by } = openUploadLink(request.params.token ?? "", request.address, request.deps);
        const given = { fileName: parseFileNameHeader(request.header("x-file-name")), by };
        const { status } = await request.deps.bulkUploads.acceptFile(id, request.readBytes(), given);
        return jsonResponse({ id, status });
      },
    }),
  ),
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
