import { Readable } from "node:stream";
import { invalidValue, notFound } from "../../lib/errors.ts";
import { computed, option, text, uuid } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";
import { textParameter } from "../query/query.ts";
import { activityReport, deviceReport } from "../reports/devices.ts";
import { recipientReport, userReport } from "../reports/people.ts";
import { type ReportDefinition, reportLines } from "../reports/report.ts";
import { writeReportCsv, writeReportJson } from "../reports/report-writers.ts";
import { COMPUTED_PAGE_MEMBERS, COMPUTED_PAGE_QUERY, computedPage } from "./computed-page.ts";

const REPORTS: readonly ReportDefinition[] = [recipientReport, userReport, deviceReport, activityReport];
const REQUIRED = { required: true } as const;
const KIND = {
  id: uuid("Id.", REQUIRED),
  name: text("Name of the report.", REQUIRED),
  description: text("Description of the report.", REQUIRED),
};
const FORMAT = { format: option("Output format.", ["json", "csv"], { default: "json" }) };

/**
 * Downloadable tables of the rows visible to the caller.
 * @source docs/decisions/0042-api-contract.md, `/v1/reports`, `/v1/reports/{reportId}`
 */
export const reportActions: readonly Action[] = [
  {
    method: "get",
    at: "reports",
    doc: "Lists the available reports.",
    response: {
      kind: "members",
      fields: {
        ...COMPUTED_PAGE_MEMBERS,
        data: computed("The reports.", "array", { of: KIND }),
      },
    },
    query: COMPUTED_PAGE_QUERY,
    async handle({ query }) {
      const data = REPORTS.map(({ id, name, description }) => ({ id, name, description }));
      return jsonResponse(computedPage(data, query));
    },
  },
  {
    method: "get",
    at: "reports/{reportId}",
    doc: "Returns a report as a table. Unknown parameters are ignored.",
    auditsReading: "reports",
    query: Object.assign({}, ...REPORTS.map(({ query }) => query), FORMAT),
    response: {
      kind: "members",
      fields: { id: KIND.id, name: KIND.name, data: computed("Lines of the report, by column.", "array") },
      orBytes: ["text/csv"],
    },
    async handle({ deps, by, params, query }) {
      const report = REPORTS.find(({ id }) => id === params.reportId);
      if (!report) throw notFound();
      const format = textParameter(query, "format") ?? "json";
      if (format !== "json" && format !== "csv") throw invalidValue("format", "Must be `json` or `csv`.");
      const reportDeps = { store: deps.store, clock: deps.clock, by };
      const chunks = reportLines(report.sources(query, reportDeps), reportDeps);
      if (format === "json") return { body: Readable.from(writeReportJson(report, chunks)) };
      const fileName = `${report.name.toLowerCase().replaceAll(" ", "-")}.csv`;
      const headers = { "Content-Disposition": `attachment; filename="${fileName}"` };
      return { type: "text/csv; charset=utf-8", headers, body: Readable.from(writeReportCsv(report, chunks)) };
    },
  },
];
