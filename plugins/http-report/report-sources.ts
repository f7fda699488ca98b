import type { PluginReport, PluginReportParameter } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** A report and the address of its lines. */
export interface ReportSource {
  report: PluginReport;
  url: string;
}

const MAX_REPORTS = 50;
const MAX_COLUMNS = 100;
const MAX_PARAMETERS = 20;
const MAX_NAME_LENGTH = 140;
const MAX_DESCRIPTION_LENGTH = 1_000;

/** The valid reports of the configuration, and what is wrong with the others. */
export function parseReportSources(value: unknown): { sources: ReportSource[]; errors: string[] } {
  if (!Array.isArray(value)) return { sources: [], errors: [sentence("reports-list")] };
  const errors = value.length > MAX_REPORTS ? [sentence("reports-too-many", { limit: MAX_REPORTS })] : [];
  const sources = new Map<string, ReportSource>();
  for (const [at, given] of value.slice(0, MAX_REPORTS).entries()) {
    const source = parseReportSource(given, at);
    if (typeof source === "string") errors.push(source);
    else if (sources.has(source.report.key)) errors.push(sentence("entry.duplicate", { at }));
    else sources.set(source.report.key, source);
  }
  return { sources: [...sources.values()], errors };
}

function parseReportSource(given: unknown, at: number): ReportSource | string {
  if (typeof given !== "object" || given === null) return sentence("entry.object", { at });
  const { key, name, description = "", url, columns, parameters = [] } = given as Record<string, unknown>;
  if (typeof key !== "string" || !/^[a-z][a-z0-9-]{0,62}$/.test(key)) return sentence("entry.key", { at });
  if (!isText(name, MAX_NAME_LENGTH)) return sentence("entry.name", { at, length: MAX_NAME_LENGTH });
  if (typeof description !== "string" || description.length > MAX_DESCRIPTION_LENGTH)
    return sentence("entry.description", { at, length: MAX_DESCRIPTION_LENGTH });
  if (typeof url !== "string" || !/^https?:\/\//.test(url) || !URL.canParse(url)) return sentence("entry.url", { at });
  if (!Array.isArray(columns) || columns.length === 0 || columns.length > MAX_COLUMNS)
    return sentence("entry.columns", { at, limit: MAX_COLUMNS });
  if (columns.some((column) => !isText(column, MAX_NAME_LENGTH)) || new Set(columns).size < columns.length)
    return sentence("entry.column-names", { at, length: MAX_NAME_LENGTH });
  if (!Array.isArray(parameters) || parameters.length > MAX_PARAMETERS)
    return sentence("entry.parameters", { at, limit: MAX_PARAMETERS });
  const parsed: PluginReportParameter[] = [];
  for (const each of parameters) {
    const parameter = parseParameter(each);
    if (parameter === null) return sentence("entry.parameter", { at });
    parsed.push(parameter);
  }
  return { report: { key, name, description, columns: columns as string[], parameters: parsed }, url };
}

function parseParameter(given: unknown): PluginReportParameter | null {
  const { name, description = "", required = false } = (given ?? {}) as Record<string, unknown>;
  if (typeof name !== "string" || !/^[a-zA-Z]\w{0,62}$/.test(name)) return null;
  return { name, description: String(description).slice(0, 1_000), required: required === true };
}

function isText(value: unknown, max: number): value is string {
  return typeof value === "string" && value.trim() !== "" && value.length <= max;
}
