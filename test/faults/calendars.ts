import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { createRandomSource } from "../sim/seeded-random.ts";
import { LOOPBACK_SETTINGS, type RunningDaemon, runInit, serveAppliance } from "../support/carillon-process.ts";
import { zipFile } from "../support/zip-file.ts";
import { type LoopStatistics, readLoopStatistics, startIdle, withLoopMonitor } from "./loop-monitor.ts";

/** A file that the daemon reads: a calendar, an alert (CAP), a table of people, or a roster. */
export interface CorpusFile {
  name: string;
  kind: "calendar" | "alert" | "table" | "roster";
  bytes: Buffer;
}

/** `skipped`: read, but without some events or lines. `fault`: answered 5xx, or not at all. */
export interface CorpusVerdict {
  name: string;
  kind: CorpusFile["kind"];
  verdict: "read" | "skipped" | "refused" | "fault";
  reason: string;
  ms: number;
}

/** What a run came to. */
export interface CorpusRun {
  verdicts: CorpusVerdict[];
  hangs: number;
  serverErrors: number;
  pulse: LoopStatistics;
  /** Of a process that did nothing meanwhile. */
  machineTurnMaxMs: number;
  /** Files during which the longest turn grew beyond 10 ms, with that time. */
  longTurns: string[];
  alive: boolean;
}

const ANSWER_TIMEOUT_MS = 30_000;
const MAX_FILE_BYTES = 4_000_000;
const NOTED_TURN_MS = 10;
const ROSTER_NAMES = /^(academicSessions|classes|courses|demographics|enrollments|manifest|orgs|roles|users)\.csv$/i;
const KINDS: Readonly<Record<string, CorpusFile["kind"]>> = {
  ...{ ics: "calendar", ical: "calendar", ifb: "calendar", xml: "alert", cap: "alert", csv: "table", zip: "roster" },
};
/** At least one new document is read in each poll of the feed, at most 50. */
const ALERTS_AT_ONCE = 50;
const POLL_MS = 15_000;

/** Files below a folder, those of OneRoster in one folder as a roster. Larger ones than any limit are left out. */
export async function readCorpus(folder: string): Promise<CorpusFile[]> {
  const files: CorpusFile[] = [];
  const rosters = new Map<string, Record<string, Buffer>>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const kind = KINDS[entry.name.split(".").at(-1)?.toLowerCase() ?? ""];
    if (!entry.isFile() || !kind || (await stat(path)).size > MAX_FILE_BYTES) continue;
    const [name, bytes] = [relative(folder, path), await readFile(path)];
    if (kind === "table" && ROSTER_NAMES.test(basename(name))) {
      const roster = rosters.get(dirname(name)) ?? {};
      rosters.set(dirname(name), { ...roster, [basename(name)]: bytes });
    } else files.push({ name, kind, bytes });
  }
  for (const [name, roster] of rosters) files.push({ name: `${name}/*.csv`, kind: "roster", bytes: zipFile(roster) });
  return files.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Brings files to a real daemon by its API, one after the other, and measures its event loop. */
export async function runCorpus(files: Iterable<CorpusFile>, say: (progress: string) => void): Promise<CorpusRun> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-corpus-"));
  const idle = await startIdle(join(folder, "machine.json"));
  try {
    const { token } = await runInit(join(folder, "data"));
    const settings = join(folder, "settings.yaml");
    await writeFile(settings, `${LOOPBACK_SETTINGS}api: {requestsPerMinute: {token: 0, address: 0}}\n`);
    const pulse = join(folder, "pulse.json");
    const daemon = await withLoopMonitor(pulse, () => serveAppliance(join(folder, "data"), ["--config", settings]));
    try {
      return await bringAll(files, { daemon, token, pulse, machinePulse: join(folder, "machine.json"), say });
    } finally {
      await daemon.end("SIGTERM");
    }
  } finally {
    idle.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Session {
  daemon: RunningDaemon;
  token: string;
  pulse: string;
  machinePulse: string;
  say: (progress: string) => void;
}

async function bringAll(files: Iterable<CorpusFile>, session: Session): Promise<CorpusRun> {
  const { daemon, pulse, machinePulse, say } = session;
  const api = createCorpusClient(session);
  const targets = await createTargets(api);
  const verdicts: CorpusVerdict[] = [];
  const alerts: CorpusFile[] = [];
  const longTurns: string[] = [];
  // The start, and code that runs for the first time, do not count.
  await bring({ name: "first", kind: "calendar", bytes: Buffer.from(WARM_UP) }, api, targets);
  await api.settle();
  daemon.child.kill("SIGUSR2");
  await api.settle();
  let longest = NOTED_TURN_MS;
  for (const file of files) {
    if (file.kind === "alert") {
      alerts.push(file);
      continue;
    }
    verdicts.push(await bring(file, api, targets));
    const { turnMaxMs } = await readLoopStatistics(pulse);
    if (turnMaxMs > longest) {
      longest = turnMaxMs;
      longTurns.push(`${file.name}: ${Math.round(turnMaxMs)} ms`);
    }
    if (verdicts.length % 500 === 0) say(`${verdicts.length} files, longest turn ${Math.round(turnMaxMs)} ms`);
    if (daemon.child.exitCode !== null) break;
  }
  if (alerts.length > 0) verdicts.push(...(await bringAlerts(alerts, api, say)));
  await api.settle();
  const faults = verdicts.filter(({ verdict }) => verdict === "fault");
  const hangs = faults.filter(({ reason }) => reason === "no answer").length;
  return {
    ...{ verdicts, hangs, serverErrors: faults.length - hangs, longTurns },
    pulse: await readLoopStatistics(pulse),
    machineTurnMaxMs: (await readLoopStatistics(machinePulse)).turnMaxMs,
    alive: daemon.child.exitCode === null && daemon.child.signalCode === null,
  };
}

const WARM_UP = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20261201\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: replies of every shape
  body: any;
}

interface CorpusClient {
  call(method: string, path: string, body?: object | Buffer, headers?: Record<string, string>): Promise<Reply>;
  /** The last pulse is at most 0.2 s old. */
  settle(): Promise<void>;
}

function createCorpusClient({ daemon, token }: Session): CorpusClient {
  return {
    async call(method, path, body, headers = {}) {
      const content = Buffer.isBuffer(body) ? new Blob([new Uint8Array(body)]) : body && JSON.stringify(body);
      const type = Buffer.isBuffer(body) ? {} : { "content-type": "application/json" };
      try {
        const answer = await fetch(`${daemon.url}/api/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, ...type, ...headers },
          ...(content === undefined ? {} : { body: content }),
          signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
        });
        const text = await answer.text();
        return { status: answer.status, body: text.startsWith("{") ? JSON.parse(text) : {} };
      } catch {
        return { status: 0, body: {} };
      }
    },
    settle: () => new Promise((done) => setTimeout(done, 500)),
  };
}

interface Targets {
  schedule: string;
  table: string;
  roster: string;
}

async function createTargets(api: CorpusClient): Promise<Targets> {
  const make = async (path: string, json: object): Promise<string> => {
    const { status, body } = await api.call("POST", path, json);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return body.id;
  };
  const days = { numWeeks: 1, startDate: "2026-08-01", endDate: "2027-07-31", timeZone: "Europe/Berlin" };
  return {
    schedule: await make("/bell-schedules", { name: "School", ...days }),
    table: await make("/load-definitions", { name: "Table", type: "table", errorThreshold: 100 }),
    roster: await make("/load-definitions", { name: "Roster", type: "oneroster", errorThreshold: 100 }),
  };
}

async function bring(file: CorpusFile, api: CorpusClient, targets: Targets): Promise<CorpusVerdict> {
  const began = performance.now();
  const judged =
    file.kind === "calendar" ? await bringCalendar(file, api, targets) : await bringLoad(file, api, targets);
  return { name: file.name, kind: file.kind, ...judged, ms: Math.round(performance.now() - began) };
}

type Judged = Pick<CorpusVerdict, "verdict" | "reason">;

async function bringCalendar({ bytes }: CorpusFile, api: CorpusClient, { schedule }: Targets): Promise<Judged> {
  const path = `/bell-schedules/${schedule}/holidays?dryRun=true`;
  const reply = await api.call("POST", path, bytes, { "content-type": "text/calendar" });
  const failed = failureOf(reply);
  if (failed) return failed;
  const rejected: { number: number; message: string }[] = reply.body.rejected;
  const [first] = rejected;
  return first
    ? { verdict: "skipped", reason: `${rejected.length} events: ${first.message}` }
    : { verdict: "read", reason: `${reply.body.imported} exceptions` };
}

async function bringLoad({ kind, bytes }: CorpusFile, api: CorpusClient, targets: Targets): Promise<Judged> {
  const path = `/load-definitions/${kind === "roster" ? targets.roster : targets.table}`;
  const [type, name] = kind === "roster" ? ["application/zip", "roster.zip"] : ["text/csv", "people.csv"];
  const failed = failureOf(await api.call("PUT", `${path}/file`, bytes, { "content-type": type, "x-file-name": name }));
  if (failed) return failed;
  let run = await api.call("POST", `${path}/runs`, { dryRun: true });
  const runPath = `${path}/runs/${run.body.id}`;
  for (const until = Date.now() + ANSWER_TIMEOUT_MS; run.status === 200 && run.body.endedAt === null; ) {
    if (Date.now() > until) return { verdict: "fault", reason: "no answer" };
    run = await api.call("GET", runPath);
  }
  const refused = failureOf(run);
  if (refused) return refused;
  const { state, reason, linesRead, linesWithErrors, errors } = run.body;
  if (state !== "complete") {
    const verdict = reason === "Internal error; see the log." ? "fault" : "refused";
    return { verdict, reason: String(reason) };
  }
  if (linesWithErrors === 0) return { verdict: "read", reason: `${linesRead} lines` };
  return { verdict: "skipped", reason: `${linesWithErrors} of ${linesRead} lines: ${errors?.[0]?.message}` };
}

function failureOf({ status, body }: Reply): Judged | null {
  if (status >= 200 && status < 300) return null;
  if (status === 0) return { verdict: "fault", reason: "no answer" };
  const message = String(body.errors?.[0]?.message ?? body.message ?? status);
  return { verdict: status >= 500 ? "fault" : "refused", reason: status >= 500 ? `${status} ${message}` : message };
}

/** Alerts come by a feed that names 50 of them at a time; what the plugin cannot read, it reports. */
async function bringAlerts(
  files: readonly CorpusFile[],
  api: CorpusClient,
  say: (progress: string) => void,
): Promise<CorpusVerdict[]> {
  const feed = await serveAlerts(files);
  try {
    const path = await watchFeed(`${feed.url}/feed`, api);
    const errors = new Map<string, string>();
    for (let batch = 0; batch * ALERTS_AT_ONCE < files.length; batch++) {
      feed.show(batch);
      const until = Date.now() + 4 * POLL_MS;
      while (!feed.isRead(batch) && Date.now() < until) await api.settle();
      // What the plugin says of a poll comes after it.
      for (let look = 0; look < 4; look++) {
        await api.settle();
        const { body: row } = await api.call("GET", path);
        for (const [, number = "", message = ""] of JSON.stringify(row).matchAll(/\/(\d+)\.xml: ([^;"\\]+)/g))
          errors.set(number, message);
      }
      say(`${Math.min(files.length, (batch + 1) * ALERTS_AT_ONCE)} of ${files.length} alerts`);
    }
    return files.map(({ name, kind }, number) => {
      const refused = errors.get(String(number));
      const judged: Judged = !feed.isFetched(number)
        ? { verdict: "fault", reason: "no answer" }
        : { verdict: refused === undefined ? "read" : "refused", reason: refused ?? "" };
      return { name, kind, ...judged, ms: 0 };
    });
  } finally {
    feed.close();
  }
}

/** Lets the plugin for alerts read a feed; its path. */
async function watchFeed(url: string, api: CorpusClient): Promise<string> {
  const { body } = await api.call("GET", "/extensions?limit=100");
  const rows = body.data as { id: string; configExports: string[] }[];
  const found = rows.find(({ configExports }) => ["feeds", "language"].every((name) => configExports.includes(name)));
  if (!found) throw new Error("there is no plugin for alerts");
  const path = `/extensions/${found.id}`;
  await api.call("PUT", path, { disabled: false });
  const feeds = [{ name: "Corpus", url, everySeconds: POLL_MS / 1_000, signed: false }];
  for (let tries = 0; ; tries++) {
    // Its configuration is validated by the plugin, which starts now.
    const { status, body: answer } = await api.call("PUT", path, { config: { feeds } });
    if (status === 200) return path;
    if (tries === 20) throw new Error(`the feed was refused: ${JSON.stringify(answer)}`);
    await api.settle();
  }
}

async function serveAlerts(files: readonly CorpusFile[]) {
  const fetched = new Set<number>();
  let batch = 0;
  const numbers = (): number[] =>
    files.map((_, number) => number).slice(batch * ALERTS_AT_ONCE, (batch + 1) * ALERTS_AT_ONCE);
  const server: Server = createServer((request, response) => {
    const number = Number(/^\/(\d+)\.xml$/.exec(request.url ?? "")?.[1] ?? Number.NaN);
    if (Number.isNaN(number)) {
      const entries = numbers().map(
        (each) => `<entry><id>${each}</id><updated>2026-01-01T00:00:00Z</updated><link href="/${each}.xml"/></entry>`,
      );
      return void response.end(`<feed xmlns="http://www.w3.org/2005/Atom">${entries.join("")}</feed>`);
    }
    fetched.add(number);
    response.end(files[number]?.bytes);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    show(next: number): void {
      batch = next;
    },
    isRead: (which: number) => which === batch && numbers().every((number) => fetched.has(number)),
    isFetched: (number: number) => fetched.has(number),
    close: () => void server.close(),
  };
}

/** Counts by kind and verdict, and the reasons with their counts, the most frequent ones first. */
export function corpusTable(verdicts: readonly CorpusVerdict[]): string {
  const lines: string[] = ["| Kind | Read | Some skipped | Refused | Faults |", "|---|---|---|---|---|"];
  const count = (kind: string, verdict: string): number =>
    verdicts.filter((each) => each.kind === kind && each.verdict === verdict).length;
  for (const kind of [...new Set(verdicts.map((each) => each.kind))])
    lines.push(
      `| ${kind} | ${["read", "skipped", "refused", "fault"].map((verdict) => count(kind, verdict)).join(" | ")} |`,
    );
  const reasons = new Map<string, number>();
  for (const { kind, verdict, reason } of verdicts) {
    if (verdict === "read") continue;
    const text = `${kind} ${verdict}: ${reason.replace(/\d+/g, "N").slice(0, 140)}`;
    reasons.set(text, (reasons.get(text) ?? 0) + 1);
  }
  const sorted = [...reasons].sort(([, one], [, other]) => other - one);
  return [...lines, "", ...sorted.map(([reason, times]) => `${times} x ${reason}`)].join("\n");
}

/** Files made from others by small damage: `count` of them, the same ones for a seed. */
export function* mutatedFiles(files: readonly CorpusFile[], count: number, seed: number): Generator<CorpusFile> {
  const calendars = files.filter(({ kind, bytes }) => kind === "calendar" && bytes.length < 100_000);
  const loads = files.filter(({ kind, bytes }) => (kind === "table" || kind === "roster") && bytes.length < 100_000);
  const alerts = files.filter(({ kind, bytes }) => kind === "alert" && bytes.length < 100_000);
  const source = createRandomSource(seed);
  const random = (): number => source.next();
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  for (let at = 0; at < count; at++) {
    // Loads run one at a time and take longer.
    const isLoad = at % 200 === 199 && loads.length > 0;
    const file = pick(isLoad ? loads : at % 4 === 3 && alerts.length > 0 ? alerts : calendars);
    yield { ...file, name: `${file.name} ~${at}`, bytes: mutate(file.bytes, pick(calendars).bytes, random) };
  }
}

/** Numbers, dates and words at which readers stumble. */
const HOSTILE = [
  ...[
    "999999999999999999",
    "-1",
    "0",
    "99991231",
    "00000000",
    "20261340",
    "20270229T250000Z",
    "P999999999999999999W",
    "PT9999999999S",
  ],
  ...[
    "FREQ=SECONDLY",
    "INTERVAL=0",
    "COUNT=999999999",
    "UNTIL=99991231",
    "BYDAY=MO,TU,WE,TH,FR,SA,SU",
    "BYHOUR=0,1,2,3,4,5,6,7,8",
    "BYSETPOS=-366",
  ],
  ...[
    "TZID=Nowhere/Land",
    "VALUE=PERIOD",
    "RANGE=THISANDFUTURE",
    "\r\n",
    "\r",
    "\n ",
    "\t",
    "\u0000",
    "\uFEFF",
    "\uD83D\uDE00",
    '"',
    ";",
    ",",
    "sep=;",
  ],
  ...[
    "BEGIN:VEVENT\r\n",
    "END:VEVENT\r\n",
    "BEGIN:VCALENDAR\r\n",
    "END:VCALENDAR\r\n",
    "RRULE:FREQ=DAILY\r\n",
    "RDATE:20261201\r\n",
    "__proto__",
    "constructor",
  ],
];

function mutate(bytes: Buffer, other: Buffer, random: () => number): Buffer {
  let text: Buffer = Buffer.from(bytes);
  const place = (): number => Math.floor(random() * (text.length + 1));
  for (let rounds = 1 + Math.floor(random() * 4); rounds > 0; rounds--) {
    const [from, to] = [place(), place()].sort((one, two) => one - two) as [number, number];
    const word = Buffer.from(HOSTILE[Math.floor(random() * HOSTILE.length)] as string);
    const short = Math.min(to, from + 1 + Math.floor(random() * 40));
    switch (Math.floor(random() * 7)) {
      case 0:
        text = Buffer.concat([text.subarray(0, from), word, text.subarray(from)]);
        break;
      case 1:
        text = Buffer.concat([text.subarray(0, from), word, text.subarray(short)]);
        break;
      case 2:
        text = Buffer.concat([text.subarray(0, from), text.subarray(short)]);
        break;
      case 3:
        text = text.subarray(0, to);
        break;
      case 4:
        text = Buffer.concat([text.subarray(0, to), text.subarray(from)]).subarray(0, 200_000);
        break;
      case 5:
        text = Buffer.concat([text.subarray(0, from), other.subarray(0, 5_000), text.subarray(from)]);
        break;
      default:
        if (from < text.length) text[from] = Math.floor(random() * 256);
    }
  }
  return text;
}
