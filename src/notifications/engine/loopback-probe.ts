import { type Clock, sleep, type Timer } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log.ts";
import type { AudioRenderer, AudioSpec } from "../../media/audio-renderer.ts";
import { type LoopbackReceiver, openLoopbackReceiver } from "../../media/loopback-receiver.ts";
import type { RenderedAudio } from "../../media/rendered-audio.ts";
import { ssrcOf } from "../../media/rtp.ts";
import type { Streamer } from "../../media/streamer.ts";
import type { Store } from "../../store/store.ts";
import { createBroadcastAudio } from "./broadcast-audio.ts";

/** Sends a test broadcast to itself again and again, and listens whether it comes. */
export interface LoopbackProbe {
  start(): void;
  stop(): Promise<void>;
  /** Sends one now; resolves when it was heard, or told why not. */
  run(): Promise<void>;
  /** What is wrong: the first one that was not heard is told, the second is severe. */
  healthReasons(): { level: "red" | "yellow"; code: string; reason: string }[];
  /** No test broadcast was heard for several tries: a new start may help. */
  readonly isSilent: boolean;
  /** When one was last heard, epoch ms; null before. */
  readonly heardAt: number | null;
  /** Tries since then that were not heard. */
  readonly misses: number;
}

/** What it is made of: what messages are sent with. */
export interface LoopbackProbeDeps {
  store: Pick<Store, "write" | "one">;
  clock: Clock;
  log: Log;
  audio: Pick<AudioRenderer, "prepare" | "forget">;
  streamer: Pick<Streamer, "open" | "startGroup" | "setRepeats" | "end" | "on">;
}

/** @source reliability.md 2.4, R15 */
const EVERY_MS = 5 * 60_000;
const LONGEST_MS = 10_000;
/** One that was not heard is tried again soon: what is severe is told within a minute. own choice */
const RETRY_MS = 30_000;
/** Tries that were not heard one after the other before a restart is of use. own choice */
const SILENT_TRIES = 3;
const LOOPBACK = "127.0.0.1";
const NOT_STORED = "could not be stored";
/** own choice: 1.5 s */
const TONE: AudioSpec = {
  ...{ tone: "chime", recording: null },
  ...{ gapMs: 0, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 },
};

/**
 * Makes it; nothing is sent before `start`. own choice: a test broadcast takes the way of every message's sound, from a
 * durable write in the lane of emergencies over the thread that makes sound and the one that sends it to a listener on the
 * loopback address, which must get every packet. It has no notification, recipient or device, so no list, ledger, count,
 * display or loudspeaker ever has anything of it: as a message, each of these would have to leave it out. That messages get
 * on from their acceptance to their deliveries is seen from those that there are (health/queues.ts).
 */
export function createLoopbackProbe(needs: LoopbackProbeDeps): LoopbackProbe {
  const { clock, log } = needs;
  const ending = new AbortController();
  let failures: { tries: number; reason: string } = { tries: 0, reason: "" };
  let heardAt: number | null = null;
  let running: Promise<void> | null = null;
  let timer: Timer | null = null;

  async function probeOnce(): Promise<void> {
    const progress = { stage: NOT_STORED };
    const late = new AbortController();
    try {
      await Promise.race([runProbe(needs, progress, late.signal), rejectAfterTimeout(late.signal)]);
      failures = { tries: 0, reason: "" };
      heardAt = clock.now();
    } catch (error) {
      if (ending.signal.aborted) return;
      failures = { tries: failures.tries + 1, reason: progress.stage };
      log.error({ err: error, stage: progress.stage, tries: failures.tries }, "a test broadcast was not heard");
    } finally {
      late.abort();
    }
  }

  async function rejectAfterTimeout(signal: AbortSignal): Promise<never> {
    await sleep(clock, LONGEST_MS, AbortSignal.any([signal, ending.signal]));
    throw new UpstreamError("upstream", `It took more than ${LONGEST_MS / 1_000} s.`);
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
      const words = `The appliance does not hear its own test broadcast: it ${reason}.`;
      return [{ level: tries === 1 ? "yellow" : "red", code: "canary", reason: words }];
    },
    get isSilent() {
      // What keeps it from being stored is told to the watchdog by others; a full disk is not put right by a restart.
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

/** `progress` says what has not been done yet, for whoever gives up waiting. */
async function runProbe(
  { store, clock, audio, streamer }: LoopbackProbeDeps,
  progress: { stage: string },
  signal: AbortSignal,
): Promise<void> {
  const id = newId();
  await store.write((tx) => void tx.run("INSERT OR REPLACE INTO loopback_probe VALUES (1, ?)", id), "emergency");
  if (store.one<{ id: string }>("SELECT id FROM loopback_probe")?.id !== id)
    throw new UpstreamError("upstream", "What was stored is not there.");
  progress.stage = "has no sound";
  // What is remembered proves nothing of the thread that makes it.
  audio.forget(TONE);
  const programme = await audio.prepare(TONE);
  progress.stage = "is not heard";
  const ear = await openLoopbackReceiver(LOOPBACK, ssrcOf(id), programme.payload);
  try {
    await sendAndListen(id, programme, ear, { clock, streamer, signal });
  } finally {
    ear.close();
  }
}

/** Resolves once the ear has heard all of it. */
async function sendAndListen(
  id: string,
  programme: RenderedAudio,
  ear: LoopbackReceiver,
  { clock, streamer, signal }: Pick<LoopbackProbeDeps, "clock" | "streamer"> & { signal: AbortSignal },
): Promise<void> {
  const given = { clock, streamer, programme, notificationId: `canary/${id}`, ssrc: ssrcOf(id) };
  const lost = new AbortController();
  const interfaceAddress = LOOPBACK;
  const sound = createBroadcastAudio({
    ...given,
    interfaceAddress,
    synchronizedStart: true,
    hasPendingStreams: () => false,
    wouldBeMissed: () => false,
    onEnd: () => undefined,
    onLost: () => lost.abort(),
  });
  const ended = new Promise<never>((_, reject) => {
    const end = (): void => reject(new UpstreamError("upstream", "Its stream ended before its time."));
    for (const each of [signal, lost.signal]) each.addEventListener("abort", end, { once: true });
  });
  const play = async (): Promise<void> => {
    await sound.openStream({ group: LOOPBACK, port: ear.port, ttl: 1 });
    sound.start();
    await ear.received;
  };
  try {
    await Promise.race([play(), ended]);
  } finally {
    sound.stop();
  }
}
