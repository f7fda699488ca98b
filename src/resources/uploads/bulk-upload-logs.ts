import { boolean, integer, json, ref, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { UPLOAD_DOMAIN_FIELDS } from "./bulk-uploads.ts";

/** What became of each line. @source service-api.md, /v1/bulk-uploads; digest `/v1/bulk-uploads/{bulkUploadId}/logs`; decisions.md 13, Bulk upload */
export default defineResource({
  name: "bulk-upload-logs",
  doc: "What became of one line of an upload.",
  paths: [{ at: "bulk-uploads/{bulkUploadId}/logs", methods: ["get"] }],
  idParam: "bulkUploadLogId",
  scope: "parent",
  replicate: "local",
  appendOnly: true,
  sort: "line",
  indexes: [
    ["bulkUploadId", "line", "id"],
    ["bulkUploadId", "resourceCreated", "line", "id"],
  ],
  fields: {
    bulkUploadId: ref("Upload that the line belongs to.", "bulk-uploads", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    line: integer("Number of the line in the file, its head being 1.", { readOnly: true }),
    resourceCreated: boolean(
      "The line's row could be made. own choice: it was kept only if the upload's status is COMPLETE, since one bad line keeps all others out.",
      { readOnly: true },
    ),
    resourceName: text("Name of the row.", { readOnly: true }),
    resourceResponse: text("What was said to the line, every fault of it included.", { readOnly: true, max: 10_000 }),
    errors: json("Faults of the line: `[{field, type, message}]`, none for a good one.", { readOnly: true }),
    resourceId: uuid("Row that was made.", { readOnly: true }),
    ...UPLOAD_DOMAIN_FIELDS,
  },
});
