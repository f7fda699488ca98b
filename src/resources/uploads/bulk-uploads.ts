import { boolean, computed, integer, internal, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Accepted content types of an upload. @source docs/decisions/0042-api-contract.md, `/v1/bulk-uploads` */
export const UPLOAD_CONTENT_TYPES = [
  "text/csv",
  "text/tab-separated-values",
  "application/zip",
  "application/x-zip-compressed",
  "application/zip-compressed",
] as const;

/** Kinds of things that can be uploaded. @source docs/decisions/0042-api-contract.md, `/v1/bulk-uploads` */
export const UPLOAD_TYPES = [
  "message-templates",
  "device-groups",
  "speakers",
  "bell-schedules",
  "call-aware-call-redirects",
  "call-aware-routing-requests",
  "ring-lists",
  "dialing-configurations",
  "api-devices",
  "badges",
  "beacons",
  "supervisors",
  "gateways",
  "placeholder-devices",
] as const;

/** How an upload and its logs show its domain. */
export const UPLOAD_DOMAIN_FIELDS = {
  domainId: computed("Domain in which the rows are created.", "text", { of: uuid("Its id."), nullable: true }),
  domain: computed("The domain; returned with includeDomain.", "object", {
    of: { id: uuid("Its id.", { required: true }), name: text("Its name.", { required: true }) },
    nullable: true,
    when: "includeDomain",
  }),
};

/**
 * Tables of rows to create, all or none.
 * @source docs/decisions/0013-other-resources.md, Bulk upload; docs/decisions/0042-api-contract.md,
 * `/v1/bulk-uploads`
 */
export default defineResource({
  name: "bulk-uploads",
  doc: "A table of rows that are created together or not at all.",
  paths: [{ at: "bulk-uploads", methods: ["get", "post", "delete"] }],
  idParam: "bulkUploadId",
  scope: "organisation",
  domainField: "actingDomainId",
  replicate: "local",
  fields: {
    resourceType: option("Resource type of the rows.", UPLOAD_TYPES, { required: true, createOnly: true }),
    testMode: boolean("Test mode: validates every line and stores nothing; `commit` then creates the rows.", {
      createOnly: true,
      default: false,
    }),
    endpointId: ref("Appliance of the rows; default: this appliance.", "endpoints", {
      createOnly: true,
      onDelete: "clear",
    }),
    contentType: option("Content type of the file. Archives are not accepted.", UPLOAD_CONTENT_TYPES, {
      createOnly: true,
      default: "text/tab-separated-values",
    }),
    url: computed("URL for the upload of the file with PUT or POST.", "text"),
    status: option(
      "`PENDING`: waiting for the file or in the queue; `RUNNING`: being read; `COMPLETE`: rows created; `success`: test passed, nothing stored; `ERROR`: nothing created, see the logs.",
      ["success", "ERROR", "PENDING", "RUNNING", "COMPLETE"],
      { readOnly: true, default: "PENDING" },
    ),
    percentage: integer("Progress of reading the file.", { readOnly: true, max: 100, unit: "%", default: 0 }),
    lineCount: integer("Rows read, without the header.", { readOnly: true, default: 0 }),
    errorCount: integer("Rows with errors.", { readOnly: true, default: 0 }),
    fileId: text("SHA-256 of the file, hex; null until it is uploaded.", {
      readOnly: true,
    }),
    fileName: text("File name, if the client sent it.", { readOnly: true }),
    startedAt: timestamp("Start time of processing.", { readOnly: true }),
    endedAt: timestamp("End time.", { readOnly: true }),
    actingDomainId: uuid("Domain in which the rows are created.", { readOnly: true }),
    ...UPLOAD_DOMAIN_FIELDS,
    fileBytes: internal("Size of the file.", "integer"),
    actor: internal("Actor as JSON, used to attribute the rows when the upload continues after a restart.", "text"),
  },
});
