import { boolean, computed, integer, internal, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Content types that an upload may be announced with. @source digest `/v1/bulk-uploads` */
export const UPLOAD_CONTENT_TYPES = [
  "text/csv",
  "text/tab-separated-values",
  "application/zip",
  "application/x-zip-compressed",
  "application/zip-compressed",
] as const;

/** Kinds of things that can be uploaded. @source service-api.md, /v1/bulk-uploads; digest `/v1/bulk-uploads` */
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
  domainId: computed("Domain that the rows are made in.", "text", { of: uuid("Its id."), nullable: true }),
  domain: computed("It, with its name; returned with includeDomain.", "object", {
    of: { id: uuid("Its id.", { required: true }), name: text("Its name.", { required: true }) },
    nullable: true,
    when: "includeDomain",
  }),
};

/**
 * Tables of rows to be made, all or none. @source service-api.md, /v1/bulk-uploads; decisions.md 13, Bulk upload;
 * own choice: what the states stand for, and the counts
 */
export default defineResource({
  name: "bulk-uploads",
  doc: "A table of rows that are made together, or not at all.",
  paths: [{ at: "bulk-uploads", methods: ["get", "post", "delete"] }],
  idParam: "bulkUploadId",
  scope: "organisation",
  domainField: "actingDomainId",
  replicate: "local",
  fields: {
    resourceType: option("What its lines are.", UPLOAD_TYPES, { required: true, createOnly: true }),
    testMode: boolean("Every line is tried and nothing is kept; `commit` makes the rows of one that passed.", {
      createOnly: true,
      default: false,
    }),
    endpointId: ref("Appliance that the rows are for; this one when not given.", "endpoints", {
      createOnly: true,
      onDelete: "clear",
    }),
    contentType: option("What the file is. own choice: archives are refused.", UPLOAD_CONTENT_TYPES, {
      createOnly: true,
      default: "text/tab-separated-values",
    }),
    url: computed("Where the file is PUT or POSTed to.", "text"),
    status: option(
      "`PENDING` waits for its file or its turn, `RUNNING` is being read, `COMPLETE` made its rows, `success` passed the test and made none, `ERROR` made none: its logs say why.",
      ["success", "ERROR", "PENDING", "RUNNING", "COMPLETE"],
      { readOnly: true, default: "PENDING" },
    ),
    percentage: integer("How much of the file was read.", { readOnly: true, max: 100, unit: "%", default: 0 }),
    lineCount: integer("Rows that were read, without the head line.", { readOnly: true, default: 0 }),
    errorCount: integer("Rows that could not be made.", { readOnly: true, default: 0 }),
    fileId: text("Name of the file's bytes: their SHA-256 in hexadecimal; null until the file is there.", {
      readOnly: true,
    }),
    fileName: text("What the file is called, where the sender said so.", { readOnly: true }),
    startedAt: timestamp("When the reading began.", { readOnly: true }),
    endedAt: timestamp("End time.", { readOnly: true }),
    actingDomainId: uuid("Domain that the rows are made in.", { readOnly: true }),
    ...UPLOAD_DOMAIN_FIELDS,
    fileBytes: internal("Size of the file.", "integer"),
    actor: internal("Who made it, as JSON, to sign the rows of an upload that outlived its process.", "text"),
  },
});
