import { file, ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Files of an extension; their content is at `…/{attachmentId}/file`.
 * @source docs/decisions/0042-api-contract.md, `/v1/extensions/{extensionId}/attachments`
 */
export default defineResource({
  name: "extension-attachments",
  doc: "A file that belongs to an extension.",
  paths: [{ at: "extensions/{extensionId}/attachments", methods: ["get", "post", "delete"] }],
  idParam: "attachmentId",
  scope: "organisation",
  replicate: "B",
  fields: {
    extensionId: ref("Extension the file belongs to.", "extensions", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    file: file("The file.", ["*/*"], { required: true }),
  },
});
