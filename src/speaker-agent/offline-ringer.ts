import type { Clock, Timer } from "../lib/clock.ts";
import { ssrcOf } from "../media/rtp.ts";
import type { AudioArbiter } from "./audio-arbiter.ts";
import type { RingJournal } from "./ring-journal.ts";
import type { PlannedOfflineRing } from "./ring-plan.ts";
import type { RingPlanStore } from "./ring-plan-store.ts";

/** Rings by itself while the appliance is gone. */
export interface OfflineRinger {
  /** The appliance has answered. */
  noteContact(): void;
  /** A stream of the appliance has begun to sound. */
  noteStreamStarted(ssrc: number): void;
  stop(): void;
}

/** What ringing alone needs. */
export interface OfflineRingerDeps {
  clock: Clock;
  arbiter: Pick<AudioArbiter, "playRing" | "canPlay">;
  planStore: Pick<RingPlanStore, "plan" | "readSound">;
  journal: Pick<RingJournal, "add" | "has">;
  /** Epoch ms of the appliance, as it is reckoned here; null when nothing is known of it. */
  now(): number | null;
  log(words: string): void;
}

const POLL_MS = 250;
/** Two requests that are held for 8 s have not been answered. own choice */
const OFFLINE_AFTER_MS = 20_000;
/** Written down so long before it sounds. own choice */
const JOURNAL_AHEAD_MS = 500;
/** A clock so far before the making of its plan was never set. own choice */
const MAX_CLOCK_LAG_MS = 60_000;
const CLOCK_NOT_SET = "the clock of this machine is not set: nothing rings without the appliance";
const PLAN_ENDED = "the plan of rings has ended: nothing rings without the appliance";

/** Starts to look at what is due; the appliance counts as gone when it has not answered for 20 s, at first from now on. */
export function startOfflineRinger({ clock, arbiter, planStore, journal, now, log }: OfflineRingerDeps): OfflineRinger {
  let heardAt = clock.monotonicMs();
  let lastLogged = "";
  let timer: Timer | null = null;
  /** One ring at a time is on its way to the stage. */
  let isBusy = false;
  /** Rings whose sound is not here. */
  const missingSounds = new Set<string>();

  const logOnce = (words: string): null => {
    if (words !== lastLogged) log(words);
    lastLogged = words;
    return null;
  };

  /** The most urgent ring that is to sound now; null when there is none, or the appliance is there. */
  const nextDue = (): PlannedOfflineRing | null => {
    const { plan } = planStore;
    const time = now();
    if (!plan || time === null || clock.monotonicMs() - heardAt < OFFLINE_AFTER_MS) return null;
    if (time < plan.madeAt - MAX_CLOCK_LAG_MS) return logOnce(CLOCK_NOT_SET);
    if (time >= plan.until) return logOnce(PLAN_ENDED);
    const due = plan.rings.filter(
      ({ ringId, at, notAfter }) =>
        at - JOURNAL_AHEAD_MS <= time && time <= notAfter && !missingSounds.has(ringId) && !journal.has(ringId),
    );
    return due.sort((a, b) => a.priority - b.priority || a.at - b.at)[0] ?? null;
  };

  const logWriteFailure = (error: unknown): void =>
    log(`what sounded could not be written down: ${error instanceof Error ? error.message : String(error)}`);

  const startRing = ({ ringId, at, volume, delayMs, priority }: PlannedOfflineRing, payload: Uint8Array): void => {
    isBusy = false;
    const onFailed = (words: string): void => {
      log(`the ring of ${new Date(at).toISOString()} did not sound: ${words}`);
      journal.add({ ringId, at, how: "failed" }).catch(logWriteFailure);
    };
    // Something more urgent has come meanwhile.
    if (!arbiter.canPlay(priority)) {
      onFailed("the speaker plays something as urgent");
      return;
    }
    log(`rings without the appliance: ${new Date(at).toISOString()}`);
    arbiter.playRing({ ssrc: ssrcOf(ringId), volume, delayMs, priority, payload, onFailed });
  };

  const prepareRing = async (ring: PlannedOfflineRing): Promise<void> => {
    const { ringId, at, sound } = ring;
    const payload = await planStore.readSound(sound.sha256);
    if (!payload) {
      missingSounds.add(ringId);
      isBusy = false;
      log(`the ring of ${new Date(at).toISOString()} did not sound: its sound is not here`);
      return;
    }
    // On the disk before it sounds: neither a crash nor the appliance, come back, may double it.
    await journal.add({ ringId, at, how: "alone" });
    timer = clock.after(Math.max(0, at - (now() ?? at)), () => startRing(ring, payload));
  };

  const tick = (): void => {
    const ring = isBusy ? null : nextDue();
    // What waits for something as urgent has until its last moment.
    if (!ring || !arbiter.canPlay(ring.priority)) return;
    isBusy = true;
    prepareRing(ring).catch((error) => {
      isBusy = false;
      logWriteFailure(error);
    });
  };

  const ticker = clock.every(POLL_MS, tick);
  return {
    noteContact() {
      heardAt = clock.monotonicMs();
      lastLogged = "";
    },
    noteStreamStarted(ssrc) {
      const ring = planStore.plan?.rings.find(({ ringId }) => ssrcOf(ringId) === ssrc);
      if (ring && !journal.has(ring.ringId))
        journal.add({ ringId: ring.ringId, at: ring.at, how: "stream" }).catch(logWriteFailure);
    },
    stop() {
      ticker.cancel();
      timer?.cancel();
    },
  };
}
