import { boolean, integer, json, ref, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField, sentencesField } from "../sentence-field.ts";
import { UPLOAD_DOMAIN_FIELDS } from "./bulk-uploads.ts";

/**
 * Result of each line of an upload.
 * @source docs/decisions/0013-other-resources.md, Bulk upload; docs/decisions/0042-api-contract.md,
 * `/v1/bulk-uploads`, `/v1/bulk-uploads/{bulkUploadId}/logs`
 */
export default defineResource({
  name: "bulk-upload-logs",
  doc: "The result of one line of a bulk upload.",
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
    bulkUploadId: ref("Upload of the line.", "bulk-uploads", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    line: integer("Line number in the file; the header is line 1.", { readOnly: true }),
    resourceCreated: boolean(
      "The row was valid and created. It is stored only if the status of the upload is COMPLETE; one invalid line rejects the whole file.",
      { readOnly: true },
    ),
    resourceName: text("Name of the row.", { readOnly: true }),
    resourceResponse: text("Result message with all errors of the line.", { readOnly: true, max: 10_000 }),
    resourceResponseSentence: sentenceField("Result message", "resourceResponse"),
    errors: json("Errors of the line: `[{field, type, message}]`; empty for a valid line.", { readOnly: true }),
    errorSentences: sentencesField("Messages of the errors", { sentenceOf: "errors.message", nullable: true }),
    resourceId: uuid("Id of the created row.", { readOnly: true }),
    ...UPLOAD_DOMAIN_FIELDS,
  },
});
