/**
 * `npm run bench [-- NUMBERS…]`: measures all rows of the benchmark table, or those with these numbers, and prints ours /
 * limit / ratio / goal. `--write` stores the figures in test/bench/results and writes the table into docs/benchmarks.md.
 * `npm run bench -- links [NUMBER]`: connects NUMBER (2000) simulated appliances to a cloud on PostgreSQL and prints the CPU
 * time of the cloud's node per link, ping and change as JSON. Needs Debian's postgresql.
 * The exit code is 0 even if a goal was missed, because figures of a shared machine vary.
 */
import { readArguments } from "../support/harness-arguments.ts";
import type { BenchmarkRow } from "./benchmark-row.ts";
import { measureLinks } from "./link-benchmark.ts";
import { type MeasuredRow, resultsTable, writeResults } from "./results-table.ts";
import { areaReport } from "./rows/area-report.ts";
import { bells } from "./rows/bells.ts";
import { broadcastToManyPhones } from "./rows/broadcast-to-many-phones.ts";
import { durableCreate } from "./rows/durable-create.ts";
import { groupMembers } from "./rows/group-members.ts";
import { livePage } from "./rows/live-page.ts";
import { phonePush } from "./rows/phone-push.ts";
import { readThroughput } from "./rows/read-throughput.ts";
import { replicationCatchUp } from "./rows/replication.ts";
import { responses } from "./rows/responses.ts";
import { rtpPacing } from "./rows/rtp-pacing.ts";
import { speakerSkew } from "./rows/speaker-skew.ts";
import { startAndMemory } from "./rows/start-and-memory.ts";

const ROWS: readonly BenchmarkRow[] = [
  readThroughput,
  durableCreate,
  areaReport,
  phonePush,
  broadcastToManyPhones,
  rtpPacing,
  bells,
  groupMembers,
  replicationCatchUp,
  startAndMemory,
  responses,
  livePage,
  speakerSkew,
];

const { values, positionals } = readArguments("bench", { write: { type: "boolean", default: false } });
if (positionals[0] === "links") {
  const figures = await measureLinks(Number(positionals[1] ?? 2_000), (progress) =>
    process.stderr.write(`${progress}\n`),
  );
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  process.exit(0);
}
const wanted = positionals.flatMap((text) => text.split(",")).map(Number);
const rows = ROWS.filter((row) => wanted.length === 0 || wanted.includes(row.number));
if (rows.length === 0) {
  process.stderr.write(`Unknown row. The rows are ${ROWS.map((row) => row.number).join(", ")}.\n`);
  process.exit(2);
}

const results: MeasuredRow[] = [];
for (const row of rows) {
  const say = (progress: string): void => void process.stderr.write(`row ${row.number}, ${row.name}: ${progress}\n`);
  say("started");
  results.push({ number: row.number, name: row.name, figures: await row.measure(say) });
}
process.stdout.write(`${resultsTable(results)}\n`);
if (values.write) writeResults(results);
