import { type DaemonRun, MAX_DAEMON_RUNS } from "../../ops/daemon-runs.ts";
import type { HealthSample } from "../../ops/health/health-series.ts";
import { computed, integer, option, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";
import { integerParameter } from "../query/query.ts";

const SHORT_HEALTH = {
  status: option("Health status.", ["GREEN", "YELLOW", "RED"], { required: true }),
  version: text("Version of the software.", { required: true }),
  since: timestamp("When the status last changed.", { required: true }),
};

const BYTES = { max: Number.MAX_SAFE_INTEGER };

const SAMPLE = {
  at: timestamp("Time of the sample.", { required: true }),
  health: integer("0 GREEN, 1 YELLOW, 2 RED.", { required: true }),
  loopLagMs: integer("Event loop lag, p99 in ms; null if unknown, as below."),
  writeMs: integer("Time from a write request to its COMMIT, in ms."),
  diskFreeBytes: integer("Free disk space for writes, in bytes.", BYTES),
  memoryFreeBytes: integer("Memory available to the process, in bytes.", BYTES),
  residentBytes: integer("Resident memory of the process, in bytes.", { required: true, ...BYTES }),
  broadcastsUnderWay: integer("Notifications in progress.", { required: true }),
  alarmActionsWaiting: integer("Pending alarm actions.", { required: true }),
  webhooksWaiting: integer("Pending webhook calls.", { required: true }),
};

const RUN = {
  startedAt: timestamp("When the process started.", { required: true }),
  endedAt: timestamp("When the run ended, or when the next run detected its end; null for the current run."),
  ending: text("Cause of the end: stopped, watchdog, signal KILL, exit-code 74, unknown; null for the current run.", {
    max: 140,
  }),
  version: text("Version of the software.", { required: true }),
};
const MAX_RUNS = 100;

/** Health, runs and metrics for monitoring; also at `/health` and `/metrics`. */
export const healthActions: readonly Action[] = [
  {
    method: "get",
    at: "health",
    outsideVersion: true,
    permission: "open",
    doc: "Returns the health status; responds 503 if RED, otherwise 200. Authenticated users find the reasons at the endpoint of the appliance.",
    response: { kind: "members", fields: SHORT_HEALTH },
    alsoSentWith: 503,
    async handle({ deps }) {
      const { status, since } = deps.monitoring.health();
      const body = { status, version: deps.monitoring.version, since: new Date(since).toISOString() };
      return jsonResponse(body, status === "RED" ? 503 : 200);
    },
  },
  {
    method: "get",
    at: "health-series",
    doc: "Returns health samples per minute for the last 24 hours, since the last start.",
    response: { kind: "members", fields: { samples: computed("Samples, oldest first.", "array", { of: SAMPLE }) } },
    async handle({ deps }) {
      const samples = deps.monitoring.series.samples();
      return jsonResponse({ samples: samples.map(presentSample) });
    },
  },
  {
    method: "get",
    at: "runs",
    doc: `Lists the runs of the daemon and how they ended; the newest ${MAX_DAEMON_RUNS} are kept.`,
    query: { limit: integer("Maximum number of runs.", { min: 1, max: MAX_DAEMON_RUNS, default: MAX_RUNS }) },
    response: { kind: "members", fields: { runs: computed("Runs, newest first.", "array", { of: RUN }) } },
    async handle({ deps, query }) {
      const runs = deps.monitoring.runs.newest(integerParameter(query, "limit", 1, MAX_DAEMON_RUNS) ?? MAX_RUNS);
      return jsonResponse({ runs: runs.map(presentRun) });
    },
  },
  {
    method: "get",
    at: "metrics",
    outsideVersion: true,
    doc: "Returns metrics in the Prometheus text format.",
    response: { kind: "bytes", types: ["text/plain"] },
    async handle({ deps }) {
      const { render: written, contentType } = deps.monitoring.metrics;
      return { type: contentType, body: await written() };
    },
  },
];

function presentRun({ began, ended, ending, version }: DaemonRun): object {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  return { startedAt: iso(began), endedAt: iso(ended), ending, version };
}

function presentSample(sample: HealthSample): object {
  const { at, loopLagMs, writeMs } = sample;
  const whole = (value: number | null): number | null => (value === null ? null : Math.round(value));
  return { ...sample, at: new Date(at).toISOString(), loopLagMs: whole(loopLagMs), writeMs: whole(writeMs) };
}
