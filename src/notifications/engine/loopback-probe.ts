import type { Clock, Timer } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import { abortable, within } from "../../lib/waits.ts";
import type { AudioRenderer, AudioSpec } from "../../media/audio-renderer.ts";
import { type LoopbackReceiver, openLoopbackReceiver } from "../../media/loopback-receiver.ts";
import type { RenderedAudio } from "../../media/rendered-audio.ts";
import { ssrcOf } from "../../media/rtp.ts";
import type { Streamer } from "../../media/streamer.ts";
import type { Store } from "../../store/store.ts";
import { createBroadcastAudio } from "./broadcast-audio.ts";

/** Periodic self-test: sends audio to a listener on this machine and checks that it arrives. */
export interface LoopbackProbe {
  start(): void;
  stop(): Promise<void>;
  /** Runs the probe now; resolves when it has passed or failed. */
  run(): Promise<void>;
  /** Health reasons: the first failure is a warning, the second is severe. */
  healthReasons(): { level: "red" | "yellow"; code: string; reason: Sentence }[];
  /** The probe failed several times in a row: a restart may help. */
  readonly isSilent: boolean;
  /** Time of the last success, epoch ms; null before. */
  readonly heardAt: number | null;
  /** Failures since then. */
  readonly misses: number;
}

export interface LoopbackProbeDeps {
  store: Pick<Store, "write" | "one">;
  clock: Clock;
  log: Log;
  audio: Pick<AudioRenderer, "prepare" | "forget">;
  streamer: Pick<Streamer, "open" | "startGroup" | "setRepeats" | "end" | "on">;
}

/** @source docs/decisions/0038-reliability.md, 2. Mechanisms and their tests */
const EVERY_MS = 5 * 60_000;
const TIMEOUT_MS = 10_000;
/** Retry after a failure, so that a severe problem is reported within a minute. */
const RETRY_MS = 30_000;
/** Failures in a row after which a restart may help. */
const SILENT_TRIES = 3;
const LOOPBACK = "127.0.0.1";
const NOT_STORED = sentence("health.self-test-not-stored");
/** 1.5 s. */
const TONE: AudioSpec = {
  ...{ tone: "chime", recording: null },
  ...{ gapMs: 0, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 },
};

/**
 * Creates the probe; nothing is sent before `start`. It takes the path of every message's audio, from a durable write
 * in the emergency lane through the audio thread and the streamer to a listener on the loopback address, which must get
 * every packet. It has no notification, recipient or device, so that no list, ledger, counter or display has to exclude
 * it. Whether messages advance from acceptance to delivery is observed on real ones (health/queues.ts).
 */
export function createLoopbackProbe(deps: LoopbackProbeDeps): LoopbackProbe {
  const { clock, log } = deps;
  const ending = new AbortController();
  let failures: { tries: number; reason: string } = { tries: 0, reason: "" };
  let heardAt: number | null = null;
  let running: Promise<void> | null = null;
  let timer: Timer | null = null;

  async function probeOnce(): Promise<void> {
    const progress = { stage: NOT_STORED };
    const late = new AbortController();
    try {
      const limits = { timeoutMs: TIMEOUT_MS, signal: ending.signal };
      const result = await within(clock, runProbe(deps, progress, late.signal), limits);
      ending.signal.throwIfAborted();
      if (result === null)
        throw new UpstreamError(
          "upstream",
          sentence("error.the-probe-took-more-than-limit-s", { limit: TIMEOUT_MS / 1_000 }),
        );
      failures = { tries: 0, reason: "" };
      heardAt = clock.now();
    } catch (error) {
      if (ending.signal.aborted) return;
      failures = { tries: failures.tries + 1, reason: progress.stage };
      log.error(
        { event: "loopback_probe.failed", err: error, stage: progress.stage, tries: failures.tries },
        "Loopback probe failed.",
      );
    } finally {
      late.abort();
    }
  }

  function run(): Promise<void> {
    running ??= probeOnce().finally(() => {
      running = null;
    });
    return running;
  }

  function schedule(delayMs: number): void {
    const next = (): void =>
      void run().then(() => !ending.signal.aborted && schedule(failures.tries > 0 ? RETRY_MS : EVERY_MS));
    timer = clock.after(delayMs, next, { background: true });
  }

  return {
    start: () => schedule(RETRY_MS),
    async stop() {
      ending.abort();
      timer?.cancel();
      await running;
    },
    run,
    healthReasons() {
      const { tries, reason } = failures;
      if (tries === 0) return [];
      const message = sentence("health.self-test", { problem: reason });
      return [{ level: tries === 1 ? "yellow" : "red", code: "canary", reason: message }];
    },
    get isSilent() {
      // Storage failures are reported elsewhere; a restart does not help against a full disk.
      return failures.tries >= SILENT_TRIES && failures.reason !== NOT_STORED;
    },
    get heardAt() {
      return heardAt;
    },
    get misses() {
      return failures.tries;
    },
  };
}

/** `progress` names the step in progress, for the timeout. */
async function runProbe(
  { store, clock, audio, streamer }: LoopbackProbeDeps,
  progress: { stage: Sentence },
  signal: AbortSignal,
): Promise<void> {
  const id = newId();
  await store.write((tx) => void tx.run("INSERT OR REPLACE INTO loopback_probe VALUES (1, ?)", id), "emergency");
  if (store.one<{ id: string }>("SELECT id FROM loopback_probe")?.id !== id)
    throw new UpstreamError("upstream", sentence("error.the-stored-probe-was-not-found"));
  progress.stage = sentence("health.self-test-not-rendered");
  // A cached result proves nothing about the audio thread.
  audio.forget(TONE);
  const renderedAudio = await audio.prepare(TONE);
  progress.stage = sentence("health.self-test-not-received");
  const receiver = await openLoopbackReceiver(LOOPBACK, ssrcOf(id), renderedAudio.payload);
  try {
    await sendAndListen(id, renderedAudio, receiver, { clock, streamer, signal });
  } finally {
    receiver.close();
  }
}

/** Resolves once the listener has received everything. */
async function sendAndListen(
  id: string,
  renderedAudio: RenderedAudio,
  receiver: LoopbackReceiver,
  { clock, streamer, signal }: Pick<LoopbackProbeDeps, "clock" | "streamer"> & { signal: AbortSignal },
): Promise<void> {
  const given = { clock, streamer, renderedAudio, notificationId: `canary/${id}`, ssrc: ssrcOf(id) };
  const lost = new AbortController();
  const networkInterface = LOOPBACK;
  const sound = createBroadcastAudio({
    ...given,
    networkInterface,
    synchronizedStart: true,
    hasPendingStreams: () => false,
    wouldBeMissed: () => false,
    onEnd: () => undefined,
    onLost: () => lost.abort(new UpstreamError("upstream", sentence("error.the-stream-ended-early"))),
  });
  const play = async (): Promise<void> => {
    await sound.openStream({ group: LOOPBACK, port: receiver.port, ttl: 1 });
    sound.start();
    await receiver.received;
  };
  try {
    await abortable(play(), AbortSignal.any([signal, lost.signal]));
  } finally {
    sound.stop();
  }
}
