import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { invalidValue, notFound, requiredValue, UpstreamError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { PluginReport, PluginReportCell, PluginReportRequest } from "../../plugin-api/index.ts";
import type { ActorContext } from "../../store/store.ts";
import type { Query } from "../query/query.ts";
import type { ReportCell } from "./report.ts";

/** Lines of a report of a plugin, or why there are none, as text for people. */
type PluginReportAnswer = { lines: readonly (readonly PluginReportCell[])[] } | { problem: string };

/** The reports of extensions of type `report`. */
export interface PluginReportSource {
  reports(): readonly (PluginReport & { id: string })[];
  /** Null if the report is not offered. Never rejects. */
  readReport(id: string, request: PluginReportRequest): Promise<PluginReportAnswer | null>;
}

/** Lines per event loop turn. */
const CHUNK_LINES = 500;
const MAX_VALUE_LENGTH = 1_000;

/** The parameters of a plugin's report from `parameters[name]=value`. Throws CallerError. */
function pluginReportParameters({ parameters }: PluginReport, query: Query): Record<string, string> {
  const given = query.parameters ?? {};
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw invalidValue("parameters", sentence("field.must-be-given-as-parameters-name-value"));
  for (const [name, value] of Object.entries(given)) {
    if (!parameters.some((parameter) => parameter.name === name))
      throw invalidValue(
        `parameters.${name}`,
        sentence("field.the-report-does-not-have-this-parameter-see-the-list-of-reports"),
      );
    if (typeof value !== "string" || value.length > MAX_VALUE_LENGTH)
      throw invalidValue(
        `parameters.${name}`,
        sentence("field.must-be-a-text-of-at-most-limit-characters", { limit: MAX_VALUE_LENGTH }),
      );
  }
  const values = given as Record<string, string>;
  const missing = parameters.find(({ name, required }) => required && !values[name]);
  if (missing) throw requiredValue(`parameters.${missing.name}`);
  return { ...values };
}

/** Reads a plugin's report; lines come in chunks between which it yields to the event loop. Throws UpstreamError. */
export async function readPluginReport(
  report: PluginReport & { id: string },
  query: Query,
  { source, clock, by }: { source: PluginReportSource; clock: Clock; by: ActorContext },
): Promise<AsyncGenerator<ReportCell[][]>> {
  const parameters = pluginReportParameters(report, query);
  const answer = await source.readReport(report.id, { parameters, userId: by.actor.userId });
  if (!answer) throw notFound();
  if ("problem" in answer) throw new UpstreamError("upstream", answer.problem);
  return chunksOf(answer.lines, report.columns.length, clock);
}

async function* chunksOf(
  lines: readonly (readonly PluginReportCell[])[],
  columns: number,
  clock: Clock,
): AsyncGenerator<ReportCell[][]> {
  for (let at = 0; at < lines.length; at += CHUNK_LINES) {
    yield lines.slice(at, at + CHUNK_LINES).map((line) => cellsOf(line, columns));
    await yieldToEventLoop(clock);
  }
}

/** A line in the form that is promised, whatever the plugin sent. */
function cellsOf(line: unknown, columns: number): ReportCell[] {
  const cells: readonly unknown[] = Array.isArray(line) ? line : [];
  return Array.from({ length: columns }, (_, at) => {
    const cell = cells[at] ?? null;
    return typeof cell === "string" || typeof cell === "number" || typeof cell === "boolean" ? cell : null;
  });
}
