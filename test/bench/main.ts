/**
 * `npm run bench [-- NUMBERS…]`: measures the rows of the table of goals (all, or those whose numbers are given) and
 * prints ours / limit / ratio / goal. `--write` keeps the figures in test/bench/results and in the README's table.
 * `npm run bench -- links [NUMBER]`: links NUMBER simulated appliances (2000) with a cloud on PostgreSQL and prints what the
 * cloud's node takes for a link, a ping and a change, as JSON. Needs Debian's postgresql.
 * Exit code 0 also when a goal was missed: a figure is no verdict on a shared machine.
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
  process.stderr.write(`No such row. There are ${ROWS.map((row) => row.number).join(", ")}.\n`);
  process.exit(2);
}

const results: MeasuredRow[] = [];
for (const row of rows) {
  const say = (progress: string): void => void process.stderr.write(`row ${row.number}, ${row.name}: ${progress}\n`);
  say("begins");
  results.push({ number: row.number, name: row.name, figures: await row.measure(say) });
}
process.stdout.write(`${resultsTable(results)}\n`);
if (values.write) writeResults(results);
