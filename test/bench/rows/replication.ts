import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { AckPolicy, connect, DeliverPolicy, StorageType } from "nats";
import memoryAdapter from "pouchdb-adapter-memory";
import PouchDB from "pouchdb-core";
import replication from "pouchdb-replication";
import { unusedPort } from "../../support/free-port.ts";
import { atLeast, atMost, type BenchmarkFigure, type BenchmarkRow, median, percentile } from "../benchmark-row.ts";
import { type LinkedBenchmarkPair, openLinkedBenchmarkPair } from "./linked-pair.ts";

PouchDB.plugin(memoryAdapter).plugin(replication);

/** Rows that change while the link is down: message templates of about 1 KB. */
const ROWS = 3_000;
const TEXT = "All classes of the upper floor leave the building by the east stairs now. ".repeat(10);
const ROUNDS = 3;
const BATCH = 200;
/** Emergencies on a quiet link, and times that the rows come while emergencies are sent. */
const QUIET_ONES = 24;
const BUSY_ROUNDS = 4;
/** What rows on their way may add to an emergency. @source the table of goals */
const HOT_MS = 20;

interface Text {
  id: string;
  name: string;
  body: string;
}

/** Row 11: from the link's return until the appliance has all rows that changed meanwhile, beside what others make of such rows. */
export const replicationCatchUp: BenchmarkRow = {
  number: 11,
  name: "replication: catching up",
  async measure(say) {
    const server = natsServer();
    if (!server) say("Install Debian's nats-server to have JetStream beside it.");
    const ours = await openLinkedBenchmarkPair(ROWS, TEXT);
    let hot: BenchmarkFigure[] = [];
    const rates = { ours: [] as number[], direct: [] as number[], pouch: [] as number[], jetStream: [] as number[] };
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const texts = Array.from({ length: ROWS }, (_, place) => textOf(round, place));
        rates.direct.push(await rate(() => applyDirectly(texts)));
        rates.ours.push((ROWS * 1_000) / (await ours.catchUp(`Round ${round}`)));
        rates.pouch.push(await pouchDb(texts));
        if (server) rates.jetStream.push(await jetStream(server, texts));
        say(`round ${round + 1} of ${ROUNDS}`);
      }
      hot = await hotLane(ours);
    } finally {
      await ours.end();
    }
    return [...figuresOf(rates), ...hot];
  },
};

/** From the request at the cloud to the first packet at a zone of the appliance, with and without rows on their way. */
async function hotLane(ours: LinkedBenchmarkPair): Promise<BenchmarkFigure[]> {
  const quiet: number[] = [];
  for (let sent = 0; sent < QUIET_ONES; sent++) quiet.push(await ours.sound());
  const busy: number[] = [];
  for (let round = 0; round < BUSY_ROUNDS; round++) {
    let isComing = true;
    const coming = ours.catchUp(`Busy ${round}`).finally(() => {
      isComing = false;
    });
    await ours.linked();
    while (isComing) {
      const ms = await ours.sound();
      if (isComing) busy.push(ms);
    }
    await coming;
  }
  const figure = {
    what: `an emergency while they come, p99 of ${busy.length}`,
    unit: "ms",
    against: "a quiet link, median",
  };
  const limit = median(quiet);
  const whole = atMost({ ...figure, ours: percentile(busy, 99), limit }, (limit + HOT_MS) / limit);
  return [{ ...whole, goal: `<= ${HOT_MS} ms more` }];
}

function figuresOf(rates: Record<"ours" | "direct" | "pouch" | "jetStream", number[]>): BenchmarkFigure[] {
  const figure = { what: `${ROWS} changed rows of 1 KB`, ours: median(rates.ours), unit: "rows/s" };
  const figures = [
    atLeast({ ...figure, limit: median(rates.direct), against: "the same rows into SQLite, no link" }, 0.7),
    atLeast({ ...figure, limit: median(rates.pouch), against: "PouchDB, in memory, no link" }, 5),
  ];
  if (rates.jetStream.length === 0) return figures;
  return [
    ...figures,
    // The table of goals has no limit for it.
    atLeast({ ...figure, limit: median(rates.jetStream), against: "NATS JetStream, each batch into SQLite" }, 1),
  ];
}

function textOf(round: number, place: number): Text {
  return { id: `row-${String(place).padStart(5, "0")}`, name: `Round ${round} row ${place}`, body: TEXT };
}

/** Rows per second of what is done to all rows. */
async function rate(work: () => Promise<void> | void): Promise<number> {
  const began = performance.now();
  await work();
  return (ROWS * 1_000) / (performance.now() - began);
}

/** Rows in transactions of one batch, each safe on the disk. */
function openTable(): { put(texts: readonly Text[]): void; end(): void } {
  const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
  const db = new Database(join(folder, "rows.db"));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.exec("CREATE TABLE texts (id TEXT PRIMARY KEY, name TEXT, body TEXT) STRICT");
  const upsert = db.prepare("INSERT OR REPLACE INTO texts (id, name, body) VALUES (?, ?, ?)");
  return {
    put: db.transaction((texts: readonly Text[]) => {
      for (const { id, name, body } of texts) upsert.run(id, name, body);
    }),
    end() {
      db.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function applyDirectly(texts: readonly Text[]): void {
  const table = openTable();
  for (let at = 0; at < texts.length; at += BATCH) table.put(texts.slice(at, at + BATCH));
  table.end();
}

/** Each changed once before the other side asks; both sides in memory, in one process. */
async function pouchDb(texts: readonly Text[]): Promise<number> {
  const name = `bench-${performance.now()}`;
  const [from, to] = [
    new PouchDB(`${name}-from`, { adapter: "memory" }),
    new PouchDB(`${name}-to`, { adapter: "memory" }),
  ];
  await from.bulkDocs(texts.map(({ id, body }) => ({ _id: id, name: "Row", body })));
  await from.replicate.to(to, { batch_size: BATCH });
  const { rows } = await from.allDocs();
  await from.bulkDocs(
    texts.map(({ id, name: called, body }, place) => ({ _id: id, _rev: rows[place]?.value.rev, name: called, body })),
  );
  const measured = await rate(async () => void (await from.replicate.to(to, { batch_size: BATCH })));
  await Promise.all([from.destroy(), to.destroy()]);
  return measured;
}

function natsServer(): string | null {
  for (const command of ["nats-server", "/usr/sbin/nats-server"]) {
    try {
      execFileSync(command, ["--version"], { stdio: "pipe" });
      return command;
    } catch {
      // The next place.
    }
  }
  return null;
}

/** The newest of each row waits in a stream on the disk; a batch is acknowledged once it is in SQLite. */
async function jetStream(command: string, texts: readonly Text[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
  const port = await unusedPort();
  const server = spawn(command, ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", folder], { stdio: "ignore" });
  const table = openTable();
  try {
    const link = await connect({ servers: `127.0.0.1:${port}`, waitOnFirstConnect: true });
    const manager = await link.jetstreamManager();
    await manager.streams.add({
      name: "rows",
      subjects: ["rows.*"],
      storage: StorageType.File,
      max_msgs_per_subject: 1,
    });
    const stream = link.jetstream();
    await Promise.all(texts.map((text) => stream.publish(`rows.${text.id}`, JSON.stringify(text))));
    const policies = { ack_policy: AckPolicy.All, deliver_policy: DeliverPolicy.All };
    await manager.consumers.add("rows", { durable_name: "site", ...policies });
    const consumer = await stream.consumers.get("rows", "site");
    const measured = await rate(async () => {
      for (let taken = 0; taken < texts.length; ) {
        const batch = [];
        for await (const message of await consumer.fetch({ max_messages: BATCH, expires: 5_000 })) batch.push(message);
        table.put(batch.map((message) => message.json<Text>()));
        await batch.at(-1)?.ackAck();
        taken += batch.length;
      }
    });
    await link.close();
    return measured;
  } finally {
    table.end();
    server.kill("SIGKILL");
    await once(server, "close");
    rmSync(folder, { recursive: true, force: true });
  }
}
