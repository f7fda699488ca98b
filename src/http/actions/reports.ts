import { Readable } from "node:stream";
import { invalidValue, notFound } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { boolean, computed, json, option, text, uuid } from "../../schema/field.ts";
import type { ActorContext } from "../../store/store.ts";
import { type Action, jsonResponse } from "../action.ts";
import type { ApiDeps } from "../dependencies.ts";
import { type Query, textParameter } from "../query/query.ts";
import { activityReport, deviceReport } from "../reports/devices.ts";
import { recipientReport, userReport } from "../reports/people.ts";
import { readPluginReport } from "../reports/plugin-reports.ts";
import { type ReportCell, type ReportDefinition, type ReportDeps, reportLines } from "../reports/report.ts";
import { writeReportCsv, writeReportJson } from "../reports/report-writers.ts";
import { COMPUTED_PAGE_MEMBERS, COMPUTED_PAGE_QUERY, computedPage } from "./computed-page.ts";

const REPORTS: readonly ReportDefinition[] = [recipientReport, userReport, deviceReport, activityReport];
const REQUIRED = { required: true } as const;
const KIND = {
  id: uuid("Id.", REQUIRED),
  name: text("Name of the report.", REQUIRED),
  description: text("Description of the report.", REQUIRED),
};
const PARAMETERS = computed("Query parameters of the report.", "array", {
  of: {
    name: text(
      "Name of the query parameter, such as userId, or parameters[building] of an extension's report.",
      REQUIRED,
    ),
    description: text("Meaning of the parameter.", REQUIRED),
    required: boolean("The report cannot be read without it.", REQUIRED),
  },
});
const PLUGIN_PARAMETERS = {
  parameters: json(
    "Parameters of an extension's report, as `parameters[name]=value`. Other reports have none of these.",
  ),
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
    doc: "Lists the available reports, with those of extensions of type report.",
    response: {
      kind: "members",
      fields: {
        ...COMPUTED_PAGE_MEMBERS,
        data: computed("The reports.", "array", { of: { ...KIND, parameters: PARAMETERS } }),
      },
    },
    query: COMPUTED_PAGE_QUERY,
    async handle({ query, deps }) {
      return jsonResponse(computedPage([...REPORTS.map(describeReport), ...listPluginReports(deps)], query));
    },
  },
  {
    method: "get",
    at: "reports/{reportId}",
    doc: "Returns a report as a table. Unknown parameters are ignored.",
    auditsReading: "reports",
    callsOut: true,
    query: Object.assign({}, ...REPORTS.map(({ query }) => query), PLUGIN_PARAMETERS, FORMAT),
    response: {
      kind: "members",
      fields: { id: KIND.id, name: KIND.name, data: computed("Lines of the report, by column.", "array") },
      orBytes: ["text/csv"],
    },
    async handle({ deps, by, params, query }) {
      const format = textParameter(query, "format") ?? "json";
      if (format !== "json" && format !== "csv") throw invalidValue("format", sentence("field.must-be-json-or-csv"));
      const { report, chunks } = await openReport(String(params.reportId), query, deps, by);
      if (format === "json") return { body: Readable.from(writeReportJson(report, chunks)) };
      const fileName = `${report.name.toLowerCase().replaceAll(" ", "-")}.csv`;
      const headers = { "Content-Disposition": `attachment; filename="${fileName}"` };
      return { type: "text/csv; charset=utf-8", headers, body: Readable.from(writeReportCsv(report, chunks)) };
    },
  },
];

function describeReport({ id, name, description, query }: ReportDefinition) {
  const parameters = Object.entries(query).map(([parameter, { doc }]) => ({
    name: parameter,
    description: doc,
    required: false,
  }));
  return { id, name, description, parameters };
}

function listPluginReports({ plugins }: Pick<ApiDeps, "plugins">) {
  return plugins.reports().map(({ id, name, description, parameters }) => ({
    id,
    name,
    description,
    parameters: parameters.map((parameter) => ({ ...parameter, name: `parameters[${parameter.name}]` })),
  }));
}

/** Throws CallerError for unknown reports and invalid parameters, UpstreamError if a plugin does not answer. */
async function openReport(
  id: string,
  query: Query,
  { store, clock, plugins }: Pick<ApiDeps, "store" | "clock" | "plugins">,
  by: ActorContext,
): Promise<{ report: Pick<ReportDefinition, "id" | "name" | "columns">; chunks: AsyncIterable<ReportCell[][]> }> {
  const report = REPORTS.find((each) => each.id === id);
  if (!report) {
    const offered = plugins.reports().find((each) => each.id === id);
    if (!offered) throw notFound();
    return { report: offered, chunks: await readPluginReport(offered, query, { source: plugins, clock, by }) };
  }
  if (query.parameters !== undefined)
    throw invalidValue("parameters", sentence("field.the-report-does-not-have-this-parameter-see-the-list-of-reports"));
  const deps: ReportDeps = { store, clock, by };
  return { report, chunks: reportLines(report.sources(query, deps), deps) };
}
