import type { Clock, Timer } from "../lib/clock.ts";
import { ssrcOf } from "../media/rtp.ts";
import type { AudioArbiter } from "./audio-arbiter.ts";
import type { RingJournal } from "./ring-journal.ts";
import type { PlannedOfflineRing } from "./ring-plan.ts";
import type { RingPlanStore } from "./ring-plan-store.ts";

/** Rings offline while the appliance is unreachable. */
export interface OfflineRinger {
  /** The appliance responded. */
  noteContact(): void;
  /** A stream from the appliance started playing. */
  noteStreamStarted(ssrc: number): void;
  stop(): void;
}

export interface OfflineRingerDeps {
  clock: Clock;
  arbiter: Pick<AudioArbiter, "playRing" | "canPlay">;
  planStore: Pick<RingPlanStore, "plan" | "readSound">;
  journal: Pick<RingJournal, "add" | "has">;
  /** Estimated epoch ms of the appliance; null if unknown. */
  now(): number | null;
  log(message: string): void;
}

const POLL_MS = 250;
/** Two long polls of 8 s without a response. */
const OFFLINE_AFTER_MS = 20_000;
/** Journaled this long before the ring. */
const JOURNAL_AHEAD_MS = 500;
/** A clock this far before the plan's creation was never set. */
const MAX_CLOCK_LAG_MS = 60_000;
const CLOCK_NOT_SET = "the clock of this machine is not set: offline rings are disabled";
const PLAN_ENDED = "the ring plan has expired: offline rings are disabled";

/** Starts the ringer. The appliance counts as offline after 20 s without a response, initially counted from now. */
export function startOfflineRinger({ clock, arbiter, planStore, journal, now, log }: OfflineRingerDeps): OfflineRinger {
  let lastContactAt = clock.monotonicMs();
  let lastLogged = "";
  let timer: Timer | null = null;
  /** One ring is prepared at a time. */
  let isBusy = false;
  /** Rings without a stored sound. */
  const missingSounds = new Set<string>();

  const logOnce = (message: string): null => {
    if (message !== lastLogged) log(message);
    lastLogged = message;
    return null;
  };

  /** The due ring with the highest priority; null if there is none or the appliance is online. */
  const nextDue = (): PlannedOfflineRing | null => {
    const { plan } = planStore;
    const time = now();
    if (!plan || time === null || clock.monotonicMs() - lastContactAt < OFFLINE_AFTER_MS) return null;
    if (time < plan.madeAt - MAX_CLOCK_LAG_MS) return logOnce(CLOCK_NOT_SET);
    if (time >= plan.until) return logOnce(PLAN_ENDED);
    const due = plan.rings.filter(
      ({ ringId, at, notAfter }) =>
        at - JOURNAL_AHEAD_MS <= time && time <= notAfter && !missingSounds.has(ringId) && !journal.has(ringId),
    );
    return due.sort((a, b) => a.priority - b.priority || a.at - b.at)[0] ?? null;
  };

  const logWriteFailure = (error: unknown): void =>
    log(`failed to write the ring journal: ${error instanceof Error ? error.message : String(error)}`);

  const startRing = ({ ringId, at, volume, delayMs, priority }: PlannedOfflineRing, payload: Uint8Array): void => {
    isBusy = false;
    const onFailed = (reason: string): void => {
      log(`ring of ${new Date(at).toISOString()} failed: ${reason}`);
      journal.add({ ringId, at, how: "failed" }).catch(logWriteFailure);
    };
    // A higher priority may have started in the meantime.
    if (!arbiter.canPlay(priority)) {
      onFailed("the speaker is playing something of the same or a higher priority");
      return;
    }
    log(`offline ring: ${new Date(at).toISOString()}`);
    arbiter.playRing({ ssrc: ssrcOf(ringId), volume, delayMs, priority, payload, onFailed });
  };

  const prepareRing = async (ring: PlannedOfflineRing): Promise<void> => {
    const { ringId, at, sound } = ring;
    const payload = await planStore.readSound(sound.sha256);
    if (!payload) {
      missingSounds.add(ringId);
      isBusy = false;
      log(`ring of ${new Date(at).toISOString()} failed: its sound is missing`);
      return;
    }
    // Journaled before it sounds: neither a crash nor the returning appliance may repeat it.
    await journal.add({ ringId, at, how: "alone" });
    timer = clock.after(Math.max(0, at - (now() ?? at)), () => startRing(ring, payload));
  };

  const tick = (): void => {
    const ring = isBusy ? null : nextDue();
    // A ring that waits for another may start until its latest start time.
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
      lastContactAt = clock.monotonicMs();
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
