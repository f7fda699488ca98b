import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ApiClient, createApiClient } from "../../src/api-client/api-client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createCertificateRequest } from "../../src/sync/identity/endpoint-certificate.ts";
import { requestEnrolment } from "../../src/sync/identity/enrolment-exchange.ts";
import { linkUrl } from "../../src/sync/transport/hub-address.ts";
import { sendControlCommand } from "../../src/wiring/control-socket.ts";
import { type RunningDaemon, runInit, spawnDaemon } from "../support/carillon-process.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { percentile } from "./benchmark-row.ts";
import { type ApplianceEnrollment, linkAppliance, type SimulatedAppliance } from "./simulated-appliances.ts";

/** What a node of a cloud on PostgreSQL does with so many links. CPU is that of the node alone, in ms. */
export interface LinkFigures {
  links: number;
  megabytesBefore: number;
  kilobytesPerLink: number;
  cpuMsPerLinkMade: number;
  cpuMsPerPing: number;
  changesPerSecond: number;
  /** A change of a row that goes to all links, for one of them. */
  cpuMsPerChangeAndLink: number;
  /** From the first change until the last appliance has the last one. */
  allChangesSeenMs: number;
  /** From the request to send a message until it came to the devices' appliances: half of them, 99 % and the last. */
  messageMs: { median: number; p99: number; last: number };
  /** A message to a device behind each link, for one of them, with what is told of it. */
  cpuMsPerMessageAndLink: number;
  /** One row each in a transaction of its own, by the same number of writers. */
  plainTransactionsPerSecond: number;
  load: number[];
}

const WRITERS = 8;
const CHANGES = 80;
const PINGS = 3;
const MESSAGES = 5;
const AT_ONCE = 16;
/** More are refused. */
const FROM_ONE_ADDRESS = 4;
const WITHIN_MS = 120_000;
const PLAIN_MS = 3_000;
const LOOK_MS = 20;
const CLOCK_TICKS_MS = 10;

/** Links so many simulated appliances with a cloud on a PostgreSQL of its own, and measures what that takes. */
export async function measureLinks(links: number, say: (progress: string) => void): Promise<LinkFigures> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-links-"));
  const postgres = await startPostgres({ durable: true });
  let hub: RunningDaemon | null = null;
  const all: SimulatedAppliance[] = [];
  try {
    const plain = await plainRate(postgres);
    const dataDir = join(folder, "hub");
    const config = join(folder, "carillon.yaml");
    writeFileSync(
      config,
      "log: {level: warn}\nbackups: {schedule: null}\napi: {requestsPerMinute: {token: 0, address: 0}}\n",
    );
    const { token, extensionId } = await runInit(dataDir);
    const at = ["--data", dataDir, "--listen", "127.0.0.1:0", "--config", config, "--database", postgres.url];
    hub = await spawnDaemon(["hub", ...at]);
    const { url, child } = hub;
    const pid = child.pid as number;
    const api = createApiClient(url, token);
    const row = await api.post<{ id: string }>("/message-templates", {
      name: "Row 0",
      subject: "Drill",
      body: "Drill.",
    });
    say(`${links} appliances are enrolled`);
    const enrolled = await inParallel(links, FROM_ONE_ADDRESS, async (number) => {
      const { id } = await api.post<{ id: string }>(`/extensions/${extensionId}/endpoints`, { name: `Site ${number}` });
      return enrol(url, dataDir, id, extensionId);
    });
    await pause(3_000);
    say("and linked");
    const before = usage(pid);
    all.push(
      ...(await inParallel(links, AT_ONCE, async (number) =>
        linkAppliance(linkUrl(url), enrolled[number] as ApplianceEnrollment),
      )),
    );
    const linked = usage(pid);
    say("they ping");
    for (let turn = 1; turn <= PINGS; turn += 1) {
      for (const each of all) each.ping();
      await until(() => all.every((each) => each.pongs() >= turn));
    }
    const pinged = usage(pid);
    say("rows are changed");
    const changed = await change(api, row.id, all, pid);
    say("messages are sent");
    const messages = await sendToAll(api, all, pid);
    const round = (value: number): number => Math.round(value * 1000) / 1000;
    return {
      links,
      megabytesBefore: Math.round(before.kilobytes / 1024),
      kilobytesPerLink: round((linked.kilobytes - before.kilobytes) / links),
      cpuMsPerLinkMade: round((linked.cpuMs - before.cpuMs) / links),
      cpuMsPerPing: round((pinged.cpuMs - linked.cpuMs) / links / PINGS),
      changesPerSecond: Math.round(changed.perSecond),
      cpuMsPerChangeAndLink: round(changed.cpuMs / CHANGES / links),
      allChangesSeenMs: changed.seenMs,
      messageMs: {
        median: percentile(messages.times, 50),
        p99: percentile(messages.times, 99),
        last: Math.max(...messages.times),
      },
      cpuMsPerMessageAndLink: round(messages.cpuMs / MESSAGES / links),
      plainTransactionsPerSecond: Math.round(plain),
      load: loadavg().map((each) => Math.round(each * 10) / 10),
    };
  } finally {
    for (const each of all) each.close();
    await hub?.end("SIGKILL");
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** From the first request until the last appliance has the last change. */
async function change(api: ApiClient, id: string, all: readonly SimulatedAppliance[], pid: number) {
  const before = usage(pid);
  const began = performance.now();
  const marks = all.map((each) => each.applied());
  let next = 0;
  const writer = async (): Promise<void> => {
    for (let at = next++; at < CHANGES; at = next++)
      await api.put(`/message-templates/${id}`, { name: `Row ${at + 1}` });
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  const tookMs = performance.now() - began;
  await until(() => all.every((each, at) => each.applied() >= (marks[at] as number) + CHANGES));
  return {
    perSecond: (CHANGES / tookMs) * 1000,
    cpuMs: usage(pid).cpuMs - before.cpuMs,
    seenMs: Math.round(performance.now() - began),
  };
}

/** One emergency after the other, each to a device behind every link. */
async function sendToAll(api: ApiClient, all: readonly SimulatedAppliance[], pid: number) {
  const { id: group } = await api.post<{ id: string }>("/device-groups", { name: "All", filterType: "ACCEPT" });
  const before = usage(pid);
  const times: number[] = [];
  for (let number = 1; number <= MESSAGES; number += 1) {
    const began = performance.now();
    const message = { subject: `Lockdown ${number}`, body: "Lock the doors.", priority: "critical" };
    await api.post("/notifications", { ...message, deviceGroupIds: [group] });
    await until(() => all.every((each) => each.messages().count >= number));
    times.push(...all.map((each) => Math.round(each.messages().came - began)));
  }
  return { times, cpuMs: usage(pid).cpuMs - before.cpuMs };
}

/** What PostgreSQL does by itself here: a row that is updated and committed. */
async function plainRate({ url }: TestPostgres): Promise<number> {
  const { Client } = (await import("pg")).default;
  const clients = Array.from({ length: WRITERS }, () => new Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  await clients[0]?.query("CREATE TABLE plain (id integer PRIMARY KEY, n bigint NOT NULL)");
  await clients[0]?.query(`INSERT INTO plain SELECT i, 0 FROM generate_series(0, ${WRITERS - 1}) i`);
  const began = performance.now();
  let done = 0;
  await Promise.all(
    clients.map(async (client, id) => {
      for (; performance.now() - began < PLAIN_MS; done += 1)
        await client.query("UPDATE plain SET n = n + 1 WHERE id = $1", [id]);
      await client.end();
    }),
  );
  return (done / PLAIN_MS) * 1000;
}

/** @source proc(5): utime and stime in ticks of 10 ms; VmRSS in KiB */
function usage(pid: number): { cpuMs: number; kilobytes: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * CLOCK_TICKS_MS, kilobytes: Number(kilobytes) };
}

async function until(holds: () => boolean): Promise<void> {
  const latest = performance.now() + WITHIN_MS;
  while (!holds()) {
    if (performance.now() > latest) throw new Error("the appliances do not get what they should");
    await pause(LOOK_MS);
  }
}

async function enrol(url: string, dataDir: string, endpoint: string, extension: string): Promise<ApplianceEnrollment> {
  const offered = await sendControlCommand(dataDir, { order: "link.code", args: {} });
  const { code } = (offered as { result: { code: string } }).result;
  const { request, key } = await createCertificateRequest();
  const way = { clock: systemClock, authority: null, proxy: "" };
  const { token } = await requestEnrolment(url, { code, endpoint, request }, way);
  return { endpoint, token, key, extension };
}

async function inParallel<T>(count: number, atOnce: number, work: (place: number) => Promise<T>): Promise<T[]> {
  const made: T[] = new Array(count);
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let place = next++; place < count; place = next++) made[place] = await work(place);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return made;
}
