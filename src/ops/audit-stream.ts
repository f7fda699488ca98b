import { appendFile } from "node:fs/promises";
import { connect, type TLSSocket } from "node:tls";
import type { Clock, Timer } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { ListenAddress } from "../settings/network-addresses.ts";
import type { Store, StoreReader } from "../store/store.ts";
import type { HealthReason } from "./health/health.ts";
import { readOperationState, writeOperationState } from "./operation-state.ts";

/** An audit entry as it is sent: columns of the table, JSON columns parsed. */
export interface StreamedEntry {
  number: number;
  at: string;
  op: string;
  [member: string]: unknown;
}

export interface AuditStreamDeps {
  store: Store;
  clock: Clock;
  log: Log;
  /** Name of this machine in syslog messages. */
  hostName: string;
  settings: { file: string | null; syslog: string | null };
  /** Address of `settings.syslog`. */
  target: ListenAddress | null;
  /** Trusted CA in PEM; null for those of the system. */
  authority: string | null;
}

/** Sends new audit entries elsewhere: to a file as JSON lines, and to a syslog server over TLS. */
export interface AuditStream {
  start(): Promise<void>;
  stop(): Promise<void>;
  healthReasons(): HealthReason[];
}

/** @source docs/decisions/0487-audit-stream.md */
const INTERVAL_MS = 1_000;
const RECONNECT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 10_000;
const BATCH_SIZE = 100;
/** Bytes in the socket from which no more entries are read: the database is the queue. */
const MAX_UNSENT_BYTES = 65_536;
/** Messages of this time are sent again after a lost connection, because syslog confirms nothing. */
const RESEND_MS = 10_000;
/** Every receiver takes 8 KiB. @source RFC 5425 §4.3.1 */
const MAX_MESSAGE_BYTES = 8_192;
/** A stream that is behind for this time is reported. */
const MAX_DELAY_MS = 10 * 60_000;
/** Facility "log audit" and severities of syslog. @source RFC 5424 §6.2.1 */
const FACILITY = 13;
const [WARNING, NOTICE] = [4, 5];
const WARNING_OPS: ReadonlySet<string> = new Set([
  ...["log-in-refused", "log-in-throttled", "credential-refused", "refused", "trust-change"],
]);

/** One sink with its position, which it keeps over restarts. */
interface Sink {
  name: string;
  /** True while entries can be sent. */
  isReady(): boolean;
  /** Resolves once they left this process. */
  send(entries: readonly StreamedEntry[]): Promise<void>;
  stop(): void;
}

/** Sends nothing before `start`. */
export function createAuditStream(deps: AuditStreamDeps): AuditStream {
  const { store, clock, log } = deps;
  const pumps: ReturnType<typeof createPump>[] = [];
  let timer: Timer | null = null;
  return {
    async start() {
      const { file } = deps.settings;
      if (file !== null) pumps.push(createPump({ store, clock, log }, () => createFileSink(file)));
      if (deps.target) pumps.push(createPump({ store, clock, log }, (rewind) => createSyslogSink(deps, rewind)));
      for (const pump of pumps) await pump.start();
      if (pumps.length > 0) timer = clock.every(INTERVAL_MS, () => void pumps.map((pump) => pump.run()));
    },
    async stop() {
      timer?.cancel();
      await Promise.all(pumps.map((pump) => pump.stop()));
    },
    healthReasons: () => pumps.flatMap((pump) => pump.healthReasons()),
  };
}

/** Reads entries from the position of a sink on, a batch at a time, and stores the position behind what was sent. */
function createPump(
  { store, clock, log }: Pick<AuditStreamDeps, "store" | "clock" | "log">,
  createSink: (rewind: (number: number) => void) => Sink,
) {
  let position = 0;
  let stored = 0;
  let behindSince: number | null = null;
  let running: Promise<void> | null = null;
  const sink = createSink((number) => {
    position = Math.min(position, number);
  });
  const key = `audit-stream ${sink.name}`;

  async function savePosition(): Promise<void> {
    if (stored === position) return;
    const at = position;
    await store.write((tx) => writeOperationState(tx, key, { position: at }));
    stored = at;
  }

  async function sendAll(): Promise<void> {
    while (sink.isReady()) {
      const entries = readEntries(store, position);
      if (entries.length === 0) {
        behindSince = null;
        break;
      }
      await sink.send(entries);
      position = entries.at(-1)?.number ?? position;
      if (entries.length < BATCH_SIZE) break;
    }
    if (!sink.isReady()) behindSince ??= clock.now();
    await savePosition();
  }

  return {
    async start() {
      const saved = readOperationState<{ position: number }>(store, key);
      // A new stream begins now: older entries are in the log itself.
      position = saved?.position ?? store.audit.end()?.number ?? 0;
      stored = saved === null ? -1 : position;
      await savePosition();
    },
    run(): Promise<void> {
      running ??= sendAll()
        .catch((error: unknown) => {
          behindSince ??= clock.now();
          log.warn(
            { event: "audit.stream_failed", to: sink.name, err: error },
            "failed to send audit entries; retrying",
          );
        })
        .finally(() => {
          running = null;
        });
      return running;
    },
    async stop() {
      await running;
      sink.stop();
    },
    healthReasons: (): HealthReason[] =>
      behindSince === null || clock.now() - behindSince < MAX_DELAY_MS
        ? []
        : [
            {
              level: "yellow",
              code: "audit-stream",
              reason: sentence("health.audit-stream", { sink: sink.name, date: new Date(behindSince).toISOString() }),
            },
          ],
  };
}

function readEntries(reader: Pick<StoreReader, "all">, after: number): StreamedEntry[] {
  const rows = reader.all<Record<string, string | number | null>>(
    `SELECT pk AS number, id, created_at AS at, op, resource, row_id AS rowId, actor_kind AS actorKind, actor_id AS actorId,
       actor_name AS actorName, address, acting_domain_id AS actingDomainId, before, after, details, hash
     FROM audit_entries WHERE pk > ? ORDER BY pk LIMIT ${BATCH_SIZE}`,
    after,
  );
  const parsed = (text: unknown): unknown => (typeof text === "string" ? (JSON.parse(text) as unknown) : null);
  return rows.map(({ before, after: later, details, ...row }) => ({
    ...(row as { number: number; op: string }),
    at: new Date(Number(row.at)).toISOString(),
    ...{ before: parsed(before), after: parsed(later), details: parsed(details) },
  }));
}

/** Opened for each batch, so that the file may be rotated by renaming it. */
function createFileSink(path: string): Sink {
  return {
    name: path,
    isReady: () => true,
    send: (entries) =>
      appendFile(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""), { mode: 0o600, flush: true }),
    stop: () => undefined,
  };
}

/** Syslog over TLS with octet counting. @source RFC 5425 */
function createSyslogSink(deps: AuditStreamDeps, rewind: (number: number) => void): Sink {
  const { clock, log, hostName, authority } = deps;
  const { host, port } = deps.target as ListenAddress;
  const name = `${host}:${port}`;
  /** What may have been lost with the connection. */
  let unconfirmed: { number: number; at: number }[] = [];
  let socket: TLSSocket | null = null;
  let isOpen = false;
  let again: Timer | null = null;
  let isStopped = false;

  function dial(): void {
    again = null;
    const made = connect({ host, port, minVersion: "TLSv1.2", ...(authority !== null && { ca: authority }) });
    socket = made;
    // Receivers are not expected to send data; it is discarded.
    made.resume();
    made.setTimeout(
      CONNECT_TIMEOUT_MS,
      () => !isOpen && made.destroy(new UpstreamError("upstream", sentence("error.the-connection-timed-out"))),
    );
    made.once("secureConnect", () => {
      isOpen = true;
      made.setTimeout(0);
      made.setKeepAlive(true, CONNECT_TIMEOUT_MS);
      log.info({ event: "audit.stream_connected", to: name }, "connected to the syslog server");
    });
    made.on("error", (error) =>
      log.warn({ event: "audit.stream_disconnected", to: name, err: error }, "syslog connection failed"),
    );
    // The receiver ends the connection.
    made.once("end", () => made.destroy());
    made.once("close", () => {
      isOpen = false;
      const since = clock.now() - RESEND_MS;
      const lost = unconfirmed.find(({ at }) => at >= since);
      if (lost) rewind(lost.number - 1);
      unconfirmed = [];
      if (!isStopped) again = clock.after(RECONNECT_MS, dial, { background: true });
    });
  }
  dial();

  return {
    name,
    isReady: () => isOpen && (socket?.writableLength ?? 0) < MAX_UNSENT_BYTES,
    send(entries) {
      const now = clock.now();
      unconfirmed = [
        ...unconfirmed.filter(({ at }) => at >= now - RESEND_MS),
        ...entries.map(({ number }) => ({ number, at: now })),
      ];
      const bytes = Buffer.concat(entries.map((entry) => syslogFrame(entry, hostName)));
      return new Promise((resolve, reject) => {
        if (!socket || !isOpen)
          return reject(new UpstreamError("upstream", sentence("error.the-connection-is-closed")));
        return socket.write(bytes, (error) => (error ? reject(error) : resolve()));
      });
    },
    stop() {
      isStopped = true;
      again?.cancel();
      socket?.end();
      socket?.destroySoon();
    },
  };
}

/** A message with its length in front. What makes it too long is left out and named. */
export function syslogFrame(entry: StreamedEntry, hostName: string): Buffer {
  const severity = WARNING_OPS.has(entry.op) ? WARNING : NOTICE;
  const printable = (text: string, max: number): string => text.replace(/[^\x21-\x7e]/g, "").slice(0, max) || "-";
  const head = `<${FACILITY * 8 + severity}>1 ${entry.at} ${printable(hostName, 255)} carillon - ${printable(entry.op, 32)} - `;
  const message = (body: object): Buffer => Buffer.from(`${head}\uFEFF${JSON.stringify(body)}`);
  const whole = message(entry);
  const { before: _before, after: _after, ...rest } = entry;
  const shorter = whole.length <= MAX_MESSAGE_BYTES ? whole : message({ ...rest, leftOut: ["before", "after"] });
  const { number, id, at, op, hash } = entry;
  const bytes =
    shorter.length <= MAX_MESSAGE_BYTES ? shorter : message({ number, id, at, op, hash, leftOut: ["everything else"] });
  return Buffer.concat([Buffer.from(`${bytes.length} `), bytes]);
}
