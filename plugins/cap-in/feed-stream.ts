import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import { backoffMs, type Clock, createSerialQueue, type PluginContext, type Timer } from "#plugin-api";
import type { ReceivedAlert } from "./alert.ts";
import { versionHash } from "./alert-filter.ts";
import { createAlertIntake } from "./alert-intake.ts";
import { alertKey, parseReferences } from "./alert-references.ts";
import { archivePath } from "./archive.ts";
import { decodeDocument } from "./encoding.ts";
import type { FeedConfig } from "./feed-config.ts";
import { createSeenHashes } from "./seen-hashes.ts";
import { sentence } from "./sentences.ts";
import { createSilenceMonitor } from "./silence-monitor.ts";
import { createStreamFramer } from "./stream-framer.ts";

export interface FeedStreamDeps {
  feed: FeedConfig;
  clock: Clock;
  log: PluginContext["log"];
  fetch: PluginContext["fetch"];
  state: PluginContext["state"];
  signal: AbortSignal;
  trigger: PluginContext["trigger"];
  resolveTarget: PluginContext["resolveTarget"];
  /** Parses a document. Throws RangeError for an invalid or untrusted alert. */
  parseAlert(text: string): ReceivedAlert;
  /** Parses a heartbeat, which is not signed. */
  parseHeartbeat(text: string): ReceivedAlert;
  onAlert(alert: ReceivedAlert): Promise<void>;
  /** Reports the state of the connection: null, or an error. */
  onState(error: string | null): void;
}

/** Largest alert of a stream; they contain sound and pictures. */
const MAX_ALERT_BYTES = 16 * 1_048_576;
const CONNECT_TIMEOUT_MS = 20_000;
/** Heartbeats come every minute; a stream without a whole message for this time is stalled. */
const STALLED_MS = 150_000;
const MAX_BACKOFF_MS = 300_000;
const ARCHIVE_TIMEOUT_MS = 20_000;
/** Heartbeats after which a missed alert is not asked for again. */
const MAX_ATTEMPTS = 10;
/** Messages that may wait while one is handled, before the stream is paused. */
const MAX_WAITING = 100;
/** Remembered attempts of missed alerts. */
const MAX_MISSED = 1_000;

/** Who sends heartbeats, which refer to the latest alerts. @source NAADS LMD User Guide 10.0, Heartbeat */
const HEARTBEAT_SENDER = /^NAADS-Heartbeat/i;

/** Stays connected to the first of a stream's hosts that answers, until the signal aborts. */
export function startFeedStream(deps: FeedStreamDeps): void {
  const { feed, clock, log, signal, onState } = deps;
  const silence = createSilenceMonitor(deps);
  const messages = createMessageHandler(deps);
  const queue = createSerialQueue();
  let host = 0;
  let failures = 0;

  const fail = async (message: string): Promise<void> => {
    if (signal.aborted) return;
    failures++;
    host = (host + 1) % feed.urls.length;
    onState(message);
    log.warn({ event: "cap.stream_failed", feed: feed.name, reason: message }, "stream failed; retrying");
    await silence.missed(message).catch(() => undefined);
    // The other hosts are tried at once, then all of them again after a while.
    const rounds = Math.floor(failures / feed.urls.length);
    const waitMs = failures % feed.urls.length === 0 ? backoffMs(rounds, 5_000, MAX_BACKOFF_MS) : 0;
    clock.after(waitMs, () => void run());
  };

  const run = async (): Promise<void> => {
    if (signal.aborted) return;
    const url = feed.urls[host] as string;
    try {
      const socket = await openSocket(url, deps);
      const reason = await readMessages(socket, deps, (bytes) => {
        const done = queue.run(async () => {
          const error = await messages.handle(bytes);
          failures = 0;
          onState(error);
          await silence.heard();
        });
        done.catch((error: unknown) => onState(textOf(error)));
        return done;
      });
      await fail(`${new URL(url).host}: ${reason}`);
    } catch (error) {
      await fail(`${new URL(url).host}: ${textOf(error)}`);
    }
  };
  void run();
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function openSocket(url: string, { clock, resolveTarget, signal }: FeedStreamDeps): Promise<Socket> {
  const { protocol, hostname, port } = new URL(url);
  const host = await resolveTarget(hostname);
  return new Promise((resolve, reject) => {
    const target = { host, port: Number(port) };
    const socket =
      protocol === "tls:"
        ? connectSecure({ ...target, servername: hostname })
        : connectPlain({ ...target, keepAlive: true });
    const stop = (): void => fail(new Error("the plugin is stopping"));
    const timer = clock.after(CONNECT_TIMEOUT_MS, () => fail(new Error(sentence("no-connection"))));
    const settle = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", stop);
      socket.removeAllListeners("error");
    };
    const fail = (error: Error): void => {
      settle();
      socket.on("error", () => undefined);
      socket.destroy();
      reject(error);
    };
    signal.addEventListener("abort", stop, { once: true });
    socket.once("error", fail);
    socket.once(protocol === "tls:" ? "secureConnect" : "connect", () => {
      settle();
      resolve(socket);
    });
  });
}

/** Resolves with the reason of the end of a connection. */
function readMessages(
  socket: Socket,
  { clock, signal, feed, log }: FeedStreamDeps,
  onMessage: (bytes: Uint8Array) => Promise<void>,
): Promise<string> {
  return new Promise((resolve) => {
    const framer = createStreamFramer(MAX_ALERT_BYTES);
    let waiting = 0;
    let watchdog: Timer;
    const end = (reason: string): void => {
      watchdog.cancel();
      signal.removeEventListener("abort", stop);
      socket.destroy();
      resolve(reason);
    };
    const stop = (): void => end("the plugin is stopping");
    const watch = (): void => {
      watchdog = clock.after(STALLED_MS, () => end(sentence("no-message", { seconds: STALLED_MS / 1_000 })));
    };
    const handled = (): void => {
      waiting--;
      if (waiting < MAX_WAITING) socket.resume();
    };
    watch();
    signal.addEventListener("abort", stop, { once: true });
    socket.on("error", (error) => end(error.message));
    socket.on("close", () => end(sentence("connection-closed")));
    socket.on("data", (chunk: Uint8Array) => {
      try {
        const { documents, skippedBytes } = framer.push(chunk);
        if (skippedBytes > 0)
          log.warn(
            { event: "cap.stream_garbage", feed: feed.name, bytes: skippedBytes },
            "bytes between alerts skipped",
          );
        if (documents.length === 0) return;
        watchdog.cancel();
        watch();
        for (const document of documents) {
          waiting++;
          onMessage(document).then(handled, handled);
        }
        if (waiting >= MAX_WAITING) socket.pause();
      } catch (error) {
        end(textOf(error));
      }
    });
  });
}

/** Handles alerts and heartbeats; returns an error to report, null for none. */
function createMessageHandler(deps: FeedStreamDeps) {
  const { feed, state, log, parseAlert, parseHeartbeat, onAlert } = deps;
  const seen = createSeenHashes(`seen:${feed.name}`, state);
  const intake = createAlertIntake({ feedName: feed.name, state, log, onAlert });
  /** Attempts of missed alerts. */
  const attempts = new Map<string, number>();

  const take = async (alert: ReceivedAlert): Promise<void> => {
    const hash = versionHash(alertKey(alert));
    if ((await seen.all()).has(hash)) return;
    await intake.take([{ alert }], async (_, error) => {
      if (error !== null) throw error;
      await seen.add([hash]);
      attempts.delete(hash);
    });
  };

  /** Reads the alerts that a heartbeat refers to and that did not come. */
  const readMissed = async (heartbeat: ReceivedAlert): Promise<string | null> => {
    const known = await seen.all();
    let problem: string | null = null;
    for (const [sender = "", identifier = "", sent = ""] of parseReferences(heartbeat.references)) {
      // A heartbeat has the status System, its alerts are actual ones.
      const hash = versionHash(alertKey({ ...heartbeat, status: "Actual", sender, identifier, sent }));
      const tried = attempts.get(hash) ?? 0;
      if (known.has(hash) || tried >= MAX_ATTEMPTS || Number.isNaN(Date.parse(sent))) continue;
      if (attempts.size >= MAX_MISSED) attempts.delete(attempts.keys().next().value as string);
      attempts.set(hash, tried + 1);
      try {
        const alert = parseAlert(await readArchive(deps, identifier, sent));
        await take(alert);
        // One of another status is known under its reference, too.
        await seen.add([hash]);
        log.info({ event: "cap.alert_recovered", feed: feed.name, identifier }, "missed alert read from the archive");
      } catch (error) {
        problem = `missed alert ${identifier}: ${textOf(error)}`;
        if (tried + 1 >= MAX_ATTEMPTS)
          log.warn(
            { event: "cap.document_abandoned", feed: feed.name, reason: problem },
            "failed to read document; giving up",
          );
      }
    }
    return problem;
  };

  return {
    async handle(bytes: Uint8Array): Promise<string | null> {
      try {
        const text = decodeDocument(bytes);
        const heartbeat = /<(?:[\w.-]+:)?sender\s*>\s*NAADS-Heartbeat/i.test(text) ? parseHeartbeat(text) : null;
        if (heartbeat && HEARTBEAT_SENDER.test(heartbeat.sender)) return await readMissed(heartbeat);
        await take(parseAlert(text));
        return null;
      } catch (error) {
        // The next heartbeat names it, and it is read from the archive.
        return textOf(error);
      }
    },
  };
}

/** Reads an alert from the first archive that has it. */
async function readArchive({ feed, fetch }: FeedStreamDeps, identifier: string, sent: string): Promise<string> {
  let failure: unknown = new RangeError("no archive is configured");
  for (const archive of feed.archives) {
    const url = new URL(archivePath(identifier, sent), archive);
    try {
      const {
        status,
        headers,
        bytes = new Uint8Array(),
      } = await fetch(url.href, {
        ...{ timeoutMs: ARCHIVE_TIMEOUT_MS, maxBytes: MAX_ALERT_BYTES, binary: true },
      });
      if (status === 200) return decodeDocument(bytes, headers["content-type"]);
      failure = new RangeError(`${url.host} responded with HTTP ${status}`);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
