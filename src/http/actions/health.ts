import { type DaemonRun, MAX_DAEMON_RUNS } from "../../ops/daemon-runs.ts";
import type { HealthSample } from "../../ops/health/health-series.ts";
import { computed, integer, option, text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse } from "../action.ts";
import { integerParameter } from "../query/query.ts";

const SHORT_HEALTH = {
  status: option("In one word.", ["GREEN", "YELLOW", "RED"], { required: true }),
  version: text("Version of the software.", { required: true }),
  since: timestamp("When it last changed.", { required: true }),
};

const BYTES = { max: Number.MAX_SAFE_INTEGER };

const SAMPLE = {
  at: timestamp("The moment.", { required: true }),
  health: integer("0 GREEN, 1 YELLOW, 2 RED.", { required: true }),
  loopLagMs: integer("How late the event loop was in the worst 1 % of its turns, ms; null is not known, as below."),
  writeMs: integer("From asking for a write to its COMMIT."),
  diskFreeBytes: integer("What may still be written to the disk.", BYTES),
  memoryFreeBytes: integer("What the process may still use.", BYTES),
  residentBytes: integer("Memory that the process holds.", { required: true, ...BYTES }),
  broadcastsUnderWay: integer("Messages that are not settled.", { required: true }),
  alarmActionsWaiting: integer("Actions of alarms that are still to be taken.", { required: true }),
  webhooksWaiting: integer("Calls of triggers that are still to be made.", { required: true }),
};

const RUN = {
  startedAt: timestamp("When the process started.", { required: true }),
  endedAt: timestamp("When it ended, or when the next one found that it had; null for the one that runs."),
  ending: text(
    "How: stopped, or cut off by watchdog, signal KILL, exit-code 74, unknown; null for the one that runs.",
    {
      max: 140,
    },
  ),
  version: text("Version of the software.", { required: true }),
};
const MAX_RUNS = 100;

/** How the appliance is, for programs that watch it; also at `/health` and `/metrics`. own choice: all of it */
export const healthActions: readonly Action[] = [
  {
    method: "get",
    at: "health",
    outsideVersion: true,
    permission: "open",
    doc: "How the appliance is, in one word: 503 when it is RED, else 200. The reasons are told to known users, at its endpoint.",
    response: { kind: "members", fields: SHORT_HEALTH },
    async handle({ needs }) {
      const { status, since } = needs.monitoring.health();
      const body = { status, version: needs.monitoring.version, since: new Date(since).toISOString() };
      return jsonResponse(body, status === "RED" ? 503 : 200);
    },
  },
  {
    // own choice: the path.
    method: "get",
    at: "health-series",
    doc: "How the appliance was in the last 24 hours, minute by minute, since its last start.",
    response: { kind: "members", fields: { samples: computed("Oldest first.", "array", { of: SAMPLE }) } },
    async handle({ needs }) {
      const samples = needs.monitoring.series.samples();
      return jsonResponse({ samples: samples.map(presentSample) });
    },
  },
  {
    // own choice: the path.
    method: "get",
    at: "runs",
    doc: `Each run of the appliance and how it ended; the newest ${MAX_DAEMON_RUNS} are kept.`,
    query: { limit: integer("How many.", { min: 1, max: MAX_DAEMON_RUNS, default: MAX_RUNS }) },
    response: { kind: "members", fields: { runs: computed("The newest first.", "array", { of: RUN }) } },
    async handle({ needs, query }) {
      const runs = needs.monitoring.runs.newest(integerParameter(query, "limit", 1, MAX_DAEMON_RUNS) ?? MAX_RUNS);
      return jsonResponse({ runs: runs.map(presentRun) });
    },
  },
  {
    method: "get",
    at: "metrics",
    outsideVersion: true,
    doc: "Numbers for graphs, in the text format of Prometheus.",
    response: { kind: "bytes", types: ["text/plain"] },
    async handle({ needs }) {
      const { render: written, contentType } = needs.monitoring.metrics;
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
