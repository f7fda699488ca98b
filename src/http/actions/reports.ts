import { Readable } from "node:stream";
import { invalidValue, notFound } from "../../lib/errors.ts";
import { boolean, computed, integer, option, text, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";
import { textParameter } from "../query/query.ts";
import { activityReport, deviceReport } from "../reports/devices.ts";
import { recipientReport, userReport } from "../reports/people.ts";
import { type ReportDefinition, reportLines } from "../reports/report.ts";
import { writeReportCsv, writeReportJson } from "../reports/report-writers.ts";

const REPORTS: readonly ReportDefinition[] = [recipientReport, userReport, deviceReport, activityReport];
const SURE = { required: true } as const;
const KIND = {
  id: uuid("Its id.", SURE),
  name: text("What it is called.", SURE),
  description: text("What it tells.", SURE),
};
const FORMAT = { format: option("How it is written.", ["json", "csv"], { default: "json" }) };

/**
 * Tables for download; they hold the rows that the caller may see. own choice: which reports there are.
 * @source digest `/v1/reports`, `/v1/reports/{reportId}`
 */
export const reportActions: readonly Action[] = [
  {
    method: "get",
    at: "reports",
    doc: "Lists the reports that there are.",
    response: {
      kind: "members",
      fields: {
        total: integer("How many there are.", SURE),
        partial: boolean("False: this is all.", SURE),
        previous: text("Null: this is all."),
        next: text("Null: this is all."),
        data: computed("The reports.", "array", { of: KIND }),
      },
    },
    async handle() {
      const data = REPORTS.map(({ id, name, description }) => ({ id, name, description }));
      return jsonResponse({ total: data.length, partial: false, previous: null, next: null, data });
    },
  },
  {
    method: "get",
    at: "reports/{reportId}",
    doc: "A report as a table. Parameters that it does not know are not heeded.",
    query: Object.assign({}, ...REPORTS.map(({ query }) => query), FORMAT),
    response: {
      kind: "members",
      fields: { id: KIND.id, name: KIND.name, data: computed("Its lines, by column.", "array") },
      orBytes: ["text/csv"],
    },
    async handle({ needs, by, params, query }) {
      const report = REPORTS.find(({ id }) => id === params.reportId);
      if (!report) throw notFound();
      const format = textParameter(query, "format") ?? "json";
      if (format !== "json" && format !== "csv") throw invalidValue("format", "It is json or csv.");
      const needed = { store: needs.store, clock: needs.clock, by };
      const slices = reportLines(report.sources(query, needed), needed);
      if (format === "json") return { body: Readable.from(writeReportJson(report, slices)) };
      const fileName = `${report.name.toLowerCase().replaceAll(" ", "-")}.csv`;
      const headers = { "Content-Disposition": `attachment; filename="${fileName}"` };
      return { type: "text/csv; charset=utf-8", headers, body: Readable.from(writeReportCsv(report, slices)) };
    },
  },
];
