import type { PluginReport, PluginReportParameter } from "#plugin-api";

/** A report and the address of its lines. */
export interface ReportSource {
  report: PluginReport;
  url: string;
}

const MAX_REPORTS = 50;
const MAX_COLUMNS = 100;
const MAX_PARAMETERS = 20;

/** The valid reports of the configuration, and what is wrong with the others. */
export function parseReportSources(value: unknown): { sources: ReportSource[]; errors: string[] } {
  if (!Array.isArray(value)) return { sources: [], errors: ["reports must be a list"] };
  const errors = value.length > MAX_REPORTS ? [`reports must have at most ${MAX_REPORTS} entries`] : [];
  const sources = new Map<string, ReportSource>();
  for (const [at, given] of value.slice(0, MAX_REPORTS).entries()) {
    const source = parseReportSource(given);
    if (typeof source === "string") errors.push(`reports[${at}] ${source}`);
    else if (sources.has(source.report.key)) errors.push(`reports[${at}] has the key of another report`);
    else sources.set(source.report.key, source);
  }
  return { sources: [...sources.values()], errors };
}

function parseReportSource(given: unknown): ReportSource | string {
  if (typeof given !== "object" || given === null) return "must be an object";
  const { key, name, description = "", url, columns, parameters = [] } = given as Record<string, unknown>;
  if (typeof key !== "string" || !/^[a-z][a-z0-9-]{0,62}$/.test(key))
    return "must have a key of lower-case letters, digits and hyphens";
  if (!isText(name, 140)) return "must have a name of at most 140 characters";
  if (typeof description !== "string" || description.length > 1_000)
    return "must have a description of at most 1000 characters";
  if (typeof url !== "string" || !/^https?:\/\//.test(url) || !URL.canParse(url))
    return "must have an http or https url";
  if (!Array.isArray(columns) || columns.length === 0 || columns.length > MAX_COLUMNS)
    return `must have 1 to ${MAX_COLUMNS} columns`;
  if (columns.some((column) => !isText(column, 140)) || new Set(columns).size < columns.length)
    return "must have different columns of at most 140 characters";
  if (!Array.isArray(parameters) || parameters.length > MAX_PARAMETERS)
    return `must have at most ${MAX_PARAMETERS} parameters`;
  const parsed: PluginReportParameter[] = [];
  for (const each of parameters) {
    const parameter = parseParameter(each);
    if (parameter === null) return "has a parameter without a name of letters, digits and underscores";
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
