import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import Database from "better-sqlite3";
import { AckPolicy, connect, DeliverPolicy, StorageType } from "nats";
import memoryAdapter from "pouchdb-adapter-memory";
import PouchDB from "pouchdb-core";
import replication from "pouchdb-replication";
import { createApiClient } from "../../../src/cli/api-client.ts";
import { lineTo } from "../../support/links.ts";
import { initialise, runCarillon, startDaemon } from "../../support/product.ts";
import { atLeast, type Figure, median, type Row } from "../row.ts";

PouchDB.plugin(memoryAdapter).plugin(replication);

/** Rows that change while the link is down: message templates of about 1 KB. */
const ROWS = 3_000;
const TEXT = "All classes of the upper floor leave the building by the east stairs now. ".repeat(10);
const ROUNDS = 3;
const BATCH = 200;
const AT_ONCE = 32;
const LOOK_MS = 10;

interface Text {
  id: string;
  name: string;
  body: string;
}

/** Row 11: from the link's return until the appliance has all rows that changed meanwhile, beside what others make of such rows. */
export const catchUp: Row = {
  number: 11,
  name: "replication: catching up",
  async measure(say) {
    const server = natsServer();
    if (!server) say("Install Debian's nats-server to have JetStream beside it.");
    const ours = await openOurs();
    const rates = { ours: [] as number[], direct: [] as number[], pouch: [] as number[], jetStream: [] as number[] };
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const texts = Array.from({ length: ROWS }, (_, place) => textOf(round, place));
        rates.direct.push(await rate(() => applyDirectly(texts)));
        rates.ours.push((ROWS * 1_000) / (await ours.catchUp(round)));
        rates.pouch.push(await pouchDb(texts));
        if (server) rates.jetStream.push(await jetStream(server, texts));
        say(`round ${round + 1} of ${ROUNDS}`);
      }
    } finally {
      await ours.end();
    }
    return figuresOf(rates);
  },
};

function figuresOf(rates: Record<"ours" | "direct" | "pouch" | "jetStream", number[]>): Figure[] {
  const figure = { what: `${ROWS} changed rows of 1 KB`, ours: median(rates.ours), unit: "rows/s" };
  const figures = [
    atLeast({ ...figure, limit: median(rates.direct), against: "the same rows into SQLite, no link" }, 0.7),
    atLeast({ ...figure, limit: median(rates.pouch), against: "PouchDB, in memory, no link" }, 5),
  ];
  if (rates.jetStream.length === 0) return figures;
  return [
    ...figures,
    // own choice: the table of goals names none
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

/** A cloud and an appliance as processes of their own, with a line between them that can be cut. */
async function openOurs() {
  const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
  const [hubDir, siteDir] = [join(folder, "hub"), join(folder, "site")];
  const [hubFirst, siteFirst] = [await initialise(hubDir), await initialise(siteDir)];
  const hub = await startDaemon(["hub", "--data", hubDir, "--listen", "127.0.0.1:0"]);
  const port = await freePort();
  const site = await startDaemon(["serve", "--data", siteDir, "--listen", `127.0.0.1:${port}`]);
  const line = await lineTo(hub.url);
  const end = async (): Promise<void> => {
    await Promise.all([hub.end("SIGKILL"), site.end("SIGKILL")]);
    line.end();
    rmSync(folder, { recursive: true, force: true });
  };
  const [there, here] = [createApiClient(hub.url, hubFirst.token), createApiClient(site.url, siteFirst.token)];
  const { stdout } = await runCarillon(["link", "code", "--data", hubDir, "--json"]);
  const { code } = JSON.parse(stdout) as { code: string };
  await runCarillon(["link", "enrol", "--data", siteDir, "--hub", line.url, "--code", code, "--mode", "adopt"]);
  const ids: string[] = [];
  await inParallel(async (place) => {
    const made = { name: `Row ${place}`, subject: "Drill", body: TEXT };
    ids[place] = (await there.post<{ id: string }>("/message-templates", made)).id;
  });
  const has = async (place: number, name: string): Promise<boolean> => {
    const found = await here.get<{ name?: string }>(`/message-templates/${ids[place]}`).catch(() => null);
    return found?.name === name;
  };
  while (!(await has(ROWS - 1, `Row ${ROWS - 1}`))) await pause(LOOK_MS);
  return {
    end,
    /** From the first byte after the link's return until the appliance shows the last row; ms. */
    async catchUp(round: number): Promise<number> {
      line.cut();
      await inParallel((place) => there.put(`/message-templates/${ids[place]}`, { name: textOf(round, place).name }));
      const began = await line.heal();
      while (!(await has(ROWS - 1, textOf(round, ROWS - 1).name))) await pause(LOOK_MS);
      return performance.now() - began;
    },
  };
}

async function inParallel(work: (place: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let place = next++; place < ROWS; place = next++) await work(place);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
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
  const port = await freePort();
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
