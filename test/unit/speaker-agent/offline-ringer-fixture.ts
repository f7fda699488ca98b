import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { UpstreamError } from "../../../src/lib/errors.ts";
import { encodeMuLaw } from "../../../src/media/mu-law.ts";
import { encodeRtpPacket, ssrcOf } from "../../../src/media/rtp.ts";
import { type AudioArbiter, createAudioArbiter } from "../../../src/speaker-agent/audio-arbiter.ts";
import type { AudioOutput } from "../../../src/speaker-agent/audio-output.ts";
import { type OfflineRinger, startOfflineRinger } from "../../../src/speaker-agent/offline-ringer.ts";
import { openRingJournal, type RingJournal } from "../../../src/speaker-agent/ring-journal.ts";
import type { OfflineRingPlan, PlannedOfflineRing } from "../../../src/speaker-agent/ring-plan.ts";
import { openRingPlanStore, type RingPlanStore } from "../../../src/speaker-agent/ring-plan-store.ts";
import type { StateFolder } from "../../../src/speaker-agent/state-folder.ts";
import { createFakeClock, FAKE_CLOCK_START, type FakeClock } from "../../support/fake-clock.ts";

const MAC = "02005E100001";
/** Twenty packets. */
export const SOUND = encodeMuLaw(Int16Array.from({ length: 3_200 }, (_, n) => Math.round(8_000 * Math.sin(n / 4))));
const SHA256 = createHash("sha256").update(SOUND).digest("hex");
const DAY_MS = 86_400_000;
const PIECE = 1_200;
/** What the appliance's clock is ahead of the machine's. */
const AHEAD_MS = 5_000;

/** Two keys: that of the appliance, and another. */
export const KEYS = [generateKeyPairSync("ed25519").privateKey, generateKeyPairSync("ed25519").privateKey] as const;

/** A ring so many ms after the start of the clock, by the appliance's. */
export function ringIn(ms: number, more: Partial<PlannedOfflineRing> = {}): PlannedOfflineRing {
  const at = FAKE_CLOCK_START + AHEAD_MS + ms;
  const sound = { sha256: SHA256, bytes: SOUND.length };
  return { ringId: `ring-${ms}`, at, notAfter: at + 30_000, priority: 4, volume: 100, delayMs: 0, sound, ...more };
}

/** An agent without a network: what it is told is told by the test. */
export interface OfflineRingerFixture {
  clock: FakeClock;
  keeper: RingPlanStore;
  book: RingJournal;
  stage: AudioArbiter;
  ringing: OfflineRinger;
  log: string[];
  /** Times by the appliance's clock, after the start, at which a sound began; and what of it came out, in samples. */
  began: number[];
  samples(): number;
  /** Deliveries of which the agent has said something, such as `alone 1`. */
  told: string[];
  /** What the appliance serves from now on. */
  serve(rings: readonly PlannedOfflineRing[], more?: Partial<OfflineRingPlan>, key?: KeyObject): void;
  /** The appliance knows no such speaker any more. */
  serveNone(): void;
  /** Fetches the plan. */
  refresh(): Promise<void>;
  /** The agent ends without a word and comes back, with its machine or alone; it has no clock but its own then. */
  restart(downMs: number, what?: "agent" | "machine"): Promise<void>;
  /** What the machine says of its clock. */
  isClockSet: boolean;
  /** From where on sounds were asked for; and which of these requests is cut off. */
  asked: number[];
  failsAt: number | null;
  /** Files of the agent. */
  files: Map<string, Buffer>;
}

/** Opens a scene whose appliance was heard just now and whose player plays, or fails with `fault`. */
export async function openOfflineRingerFixture(fault: string | null = null): Promise<OfflineRingerFixture> {
  const clock = createFakeClock();
  const files = new Map<string, Buffer>();
  const state: StateFolder = {
    read: async (name) => files.get(name) ?? null,
    write: async (name, content) => void files.set(name, Buffer.from(content)),
    remove: async (name) => void files.delete(name),
    list: async () => [...files.keys()],
    readRegistration: async () => null,
    writeRegistration: async () => {},
  };
  let served: { etag: string; document: string } | "none" | null = null;
  const asked: number[] = [];
  const machine = { bootId: "first", isClockSet: async () => scene.isClockSet };
  let sequence = 0;
  let samples = 0;
  let exchanged = true;
  const [log, began, told]: [string[], number[], string[]] = [[], [], []];
  const planKey = publicKey(KEYS[0]);
  const registration = { server: "", mac: MAC, token: "", planKey };
  const appliance = {
    async fetchPlan(_: unknown, etag: string | null) {
      if (!served) throw new UpstreamError("upstream", "gone");
      if (served === "none") return "none" as const;
      return served.etag === etag ? ("same" as const) : served;
    },
    async fetchSound(_: unknown, _sha256: string, from: number) {
      asked.push(from);
      if (asked.length === scene.failsAt) throw new UpstreamError("upstream", "cut off");
      return SOUND.subarray(from, from + PIECE);
    },
  };
  const applianceNow = (): number => FAKE_CLOCK_START + AHEAD_MS + clock.monotonicMs();
  const open = (): AudioOutput => {
    let end = (_: string | null): void => {};
    const ended = new Promise<string | null>((resolve) => {
      end = resolve;
    });
    if (fault !== null) end(fault);
    let isFirst = true;
    return {
      ended,
      write(pcm) {
        if (isFirst) began.push(clock.monotonicMs());
        isFirst = false;
        samples += pcm.some((sample) => sample !== 0) ? pcm.length : 0;
      },
      end: () => end(null),
      abort: () => end(null),
    };
  };
  const scene = {
    ...{ clock, log, began, told, files, asked, samples: () => samples, isClockSet: true, failsAt: null },
  } as unknown as OfflineRingerFixture;
  const start = async (): Promise<void> => {
    const journal = await openRingJournal(state);
    const onLog = (words: string): void => void log.push(words);
    const planStore = await openRingPlanStore({ state, appliance, registration, clock, machine, log: onLog });
    const arbiter = createAudioArbiter({
      ...{ clock, open, listen: null, bufferMs: 0, hasPlayedOffline: journal.hasPlayedOffline },
      onStreamStarted: (ssrc) => scene.ringing.noteStreamStarted(ssrc),
      onEvent: ({ kind, deliveryId }) => void told.push(`${kind} ${deliveryId}`),
    });
    const now = (): number | null => (exchanged ? applianceNow() : planStore.estimatedNow());
    const ringing = startOfflineRinger({ clock, arbiter, planStore, journal, now, log: onLog });
    Object.assign(scene, { book: journal, keeper: planStore, stage: arbiter, ringing });
  };
  await start();
  return Object.assign(scene, {
    serve(rings: readonly PlannedOfflineRing[], more: Partial<OfflineRingPlan> = {}, key: KeyObject = KEYS[0]) {
      const madeAt = applianceNow();
      const until = madeAt + 14 * DAY_MS;
      const plan = { deviceIdentifier: `agent:${MAC}`, sequence: ++sequence, madeAt, until, rings, ...more };
      const payload = Buffer.from(JSON.stringify(plan));
      const signature = sign(null, payload, key).toString("base64");
      served = {
        etag: `"${sequence}"`,
        document: JSON.stringify({ payload: payload.toString("base64"), signature }),
      };
    },
    serveNone() {
      served = "none";
    },
    refresh: () => scene.keeper.refresh(applianceNow()),
    async restart(downMs: number, what: "agent" | "machine" = "agent") {
      if (what === "machine") machine.bootId += "+";
      scene.ringing.stop();
      scene.stage.close();
      await clock.advance(downMs);
      exchanged = false;
      await start();
    },
  });
}

/** A stream's packet of the message with this id. */
export function packetOf(ringId: string, sequence: number) {
  const header = { payloadType: 0, marker: false, sequence, timestamp: sequence * 160, ssrc: ssrcOf(ringId) };
  return { datagram: encodeRtpPacket(header, SOUND.subarray(0, 160)), sender: "10.0.0.1", zone: null };
}

/** The command to play it. */
export function playOf(ringId: string, deliveryId: number) {
  const settings = { volume: 100, delayMs: 0, priority: 4 };
  return { kind: "play", deliveryId, notificationId: ringId, ssrc: ssrcOf(ringId), ...settings } as const;
}

function publicKey(key: KeyObject): string {
  const jwk = key.export({ format: "jwk" });
  return Buffer.from(jwk.x as string, "base64url").toString("base64");
}
