import type { Clock } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { PluginReport, PluginReportCell, PluginReportRequest } from "../plugin-api/index.ts";
import { createPendingRequests, type PendingRequestLimits } from "./pending-requests.ts";
import type { PluginReportResult, ToPlugin } from "./plugin-protocol.ts";
import type { Redact } from "./redaction.ts";

const MAX_REPORTS = 50;
const MAX_COLUMNS = 100;
const MAX_PARAMETERS = 20;
const MAX_LINES = 10_000;
const MAX_REASON_LENGTH = 500;

const LIMITS: PendingRequestLimits<PluginReportResult> = {
  timeoutMs: 15_000,
  // Each may hold 10,000 lines.
  maxPending: 4,
  timedOut: { problem: sentence("error.the-report-was-not-ready-within-15-s-try-again-or-ask-for-less") },
  dropped: { problem: sentence("error.the-plugin-of-the-report-is-not-running-check-its-extension") },
  overloaded: { problem: sentence("error.too-many-reports-of-this-plugin-are-being-read-try-again-later") },
};

/** The reports that a running plugin offers, and the requests for their lines. */
export interface PluginReports {
  list(): PluginReport[];
  /** False for an invalid report, which is not offered. */
  offer(report: PluginReport): boolean;
  /** Never rejects. */
  read(key: string, request: PluginReportRequest): Promise<PluginReportResult>;
  addLines(id: number, lines: readonly (readonly PluginReportCell[])[]): void;
  /** Null if all lines were sent. */
  finish(id: number, problem: string | null, redact: Redact): void;
  /** The plugin stopped or crashed. */
  clear(): void;
}

export function createPluginReports(clock: Clock, send: (message: ToPlugin) => void): PluginReports {
  const offered = new Map<string, PluginReport>();
  const pending = createPendingRequests<PluginReportResult>(clock, LIMITS);
  /** Lines received so far, by request. */
  const received = new Map<number, (readonly PluginReportCell[])[]>();
  return {
    list: () => [...offered.values()],
    offer(report) {
      if (!isValidReport(report) || (offered.size >= MAX_REPORTS && !offered.has(report.key))) return false;
      offered.set(report.key, report);
      return true;
    },
    async read(key, request) {
      let own: number | null = null;
      const result = await pending.request((id) => {
        own = id;
        received.set(id, []);
        send({ kind: "report", id, key, request });
      });
      if (own !== null) received.delete(own);
      return result;
    },
    addLines(id, lines) {
      const all = received.get(id);
      // One more line than allowed tells that there are too many.
      if (all) for (const line of lines.slice(0, MAX_LINES + 1 - all.length)) all.push(line);
    },
    finish(id, problem, redact) {
      const lines = received.get(id) ?? [];
      if (problem !== null) pending.resolve(id, { problem: redact(problem).slice(0, MAX_REASON_LENGTH) });
      else if (lines.length > MAX_LINES)
        pending.resolve(id, {
          problem: sentence("error.the-report-has-more-than-limit-lines-ask-for-less", { limit: MAX_LINES }),
        });
      else pending.resolve(id, { lines });
    },
    clear() {
      offered.clear();
      received.clear();
      pending.resolveAllDropped();
    },
  };
}

function isValidReport({ key, name, description, columns, parameters }: PluginReport): boolean {
  return (
    typeof key === "string" &&
    /^[a-z][a-z0-9-]{0,62}$/.test(key) &&
    isText(name, 140) &&
    typeof description === "string" &&
    description.length <= 1_000 &&
    isListOf(columns, MAX_COLUMNS, (column) => isText(column, 140)) &&
    columns.length > 0 &&
    isListOf(parameters, MAX_PARAMETERS, (parameter) => /^[a-zA-Z]\w{0,62}$/.test(parameter.name))
  );
}

function isText(value: unknown, max: number): boolean {
  return typeof value === "string" && value !== "" && value.length <= max;
}

function isListOf<T>(value: readonly T[], max: number, isValid: (item: T) => boolean): boolean {
  return Array.isArray(value) && value.length <= max && value.every(isValid);
}
