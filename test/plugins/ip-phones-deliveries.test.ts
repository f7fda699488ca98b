import { describe, expect, it } from "vitest";
import { createPhoneDeliveries } from "../../plugins/ip-phones/deliveries.ts";
import type { PhoneExchange } from "../../plugins/ip-phones/phone-client.ts";
import { createPhoneTaskQueue } from "../../plugins/ip-phones/phone-task-queue.ts";
import type { PushOutcome } from "../../plugins/ip-phones/pusher.ts";
import { type AudioTarget, DEFAULT_PROFILE, type DeliveryItem } from "../../src/plugin-api/index.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { deliveryTo } from "./simulator-fixture.ts";

const SOUND: AudioTarget = { group: "239.192.16.1", port: 20480, codec: "PCMU", ttl: 1, ssrc: 7 };
const DEVICE = {
  type: "phones",
  deviceIdentifier: "SEP00CA000000BB",
  description: "Told what to say",
  attributes: { IPAddress: "127.0.0.1", DeviceProduct: "Cisco 8845" },
};

interface Said {
  statistics?: () => PhoneExchange;
  push?: () => Promise<PushOutcome>;
  media?: () => Promise<string | null>;
  command?: () => Promise<string | null>;
}

function statistics(packets: number, remote = "239.192.16.1/20480", status = ""): PhoneExchange {
  const inner = `<RemoteAddr>${remote}</RemoteAddr><StreamStatus>${status}</StreamStatus><RcvrPackets>${packets}</RcvrPackets>`;
  const body = `<StreamingStatistics>${inner}</StreamingStatistics>`;
  return { answer: { status: 200, body } };
}

/** Deliveries over phones that say what the test wants; `log` holds what was done, with the time in ms. */
function stage(said: Said = {}) {
  const clock = createFakeClock();
  const log: string[] = [];
  let tellStopped = (): void => {};
  const note = (what: string): void => void log.push(`${clock.monotonicMs()} ${what}`);
  const deliveries = createPhoneDeliveries({
    clock,
    outcome: (id, level, details) => note([id, level, details?.reason].filter((part) => part !== undefined).join(" ")),
    tasks: createPhoneTaskQueue(clock, { maxConcurrent: () => 10, maxLowestPriority: 2 }, (error) =>
      note(String(error)),
    ),
    request: async () => {
      note("asks");
      return said.statistics?.() ?? statistics(0);
    },
    pusher: {
      push: async (_, { page, sound }) => {
        note(`pushes ${[page && "page", sound && "sound"].filter(Boolean).join("+")}`);
        return (await said.push?.()) ?? { kind: "accepted" };
      },
      playMedia: async () => {
        note("asks by the other way");
        return (await said.media?.()) ?? null;
      },
      execute: async (_, items) => {
        note(`commands ${items.map(({ url }) => url).join(" ")}`);
        return (await said.command?.()) ?? null;
      },
    },
    events: {
      subscribe(onStopped) {
        tellStopped = onStopped;
        return "Notify:http:127.0.0.1:80:stream/x";
      },
    },
    log: { warn: (_, words) => note(words) },
    pages: { add: () => "http://127.0.0.1/page", respond: () => null },
  });
  // What was asked for begins in a later turn of the event loop, before time goes on.
  const deliver = async (id: number, changes: Partial<DeliveryItem> = {}): Promise<void> => {
    deliveries.start([deliveryTo(DEVICE, id, { audio: SOUND, ...changes })]);
    await clock.advance(0);
  };
  const stop = async (reason: "aborted" | "ended", ...deliveryIds: number[]): Promise<void> => {
    deliveries.stop({ deliveryIds, reason });
    await clock.advance(0);
  };
  return { clock, log, deliveries, deliver, stop, tellStopped: () => tellStopped() };
}

describe("deliveries to phones", () => {
  it("query statistics at growing intervals until the end", async () => {
    const { clock, log, deliver, stop } = stage();
    await deliver(1);
    await clock.advance(25_000);
    await stop("ended", 1);
    await clock.advance(60_000);
    expect(log).toEqual([
      "0 pushes page+sound",
      "0 1 accepted",
      ...[750, 1_000, 1_500, 2_500, 4_500, 8_500, 16_500, 24_500].map((at) => `${at} asks`),
      "25000 asks",
      "25000 commands RTPMRx:Stop Init:Services",
      "25000 1 accepted",
    ]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it("are not ended by the stop of an earlier attempt that a slow phone still carries out", async () => {
    const { clock, log, deliver, stop } = stage({
      statistics: () => statistics(3),
      command: () => new Promise((resolve) => clock.after(5_000, () => resolve(null))),
    });
    await deliver(1);
    await clock.advance(700);
    await stop("ended", 1);
    await deliver(1, { attempt: 2 });
    await clock.advance(20_000);
    expect(log.filter((line) => / 1 (accepted|playing)/.test(line))).toEqual([
      "0 1 accepted",
      "700 1 playing",
      "5700 1 accepted",
      "5850 1 playing",
    ]);
    await stop("ended", 1);
    await clock.advance(5_000);
    expect(log.at(-1)).toBe(`${clock.monotonicMs()} 1 playing`);
  });

  it("stop queries once a phone plays", async () => {
    const { clock, log, deliver } = stage({ statistics: () => statistics(3) });
    await deliver(1);
    await clock.advance(60_000);
    expect(log.slice(1)).toEqual(["0 1 accepted", "750 asks", "750 1 playing"]);
  });

  it("query a phone that accepted late soon after", async () => {
    const { clock, log, deliver } = stage({
      statistics: () => statistics(3),
      push: () => new Promise((resolve) => clock.after(900, () => resolve({ kind: "accepted" }))),
    });
    await deliver(1);
    await clock.advance(60_000);
    expect(log.slice(1)).toEqual(["900 1 accepted", "1050 asks", "1050 1 playing"]);
  });

  it("query a phone without statistics only once", async () => {
    const { clock, log, deliver } = stage({ statistics: () => ({ answer: { status: 404, body: "" } }) });
    await deliver(1);
    await clock.advance(60_000);
    expect(log.filter((line) => line.endsWith("asks"))).toEqual(["750 asks"]);
  });

  it("keep querying a phone that does not respond", async () => {
    let answers = 0;
    const { clock, log, deliver } = stage({
      statistics: () => (++answers < 3 ? { error: { message: "no answer", retryable: true } } : statistics(1)),
    });
    await deliver(1);
    await clock.advance(60_000);
    expect(log.at(-1)).toBe("1500 1 playing");
  });

  it("accept packets of another address as proof only if their count increases", async () => {
    const counts = [7, 7, 8];
    const { clock, log, deliver } = stage({ statistics: () => statistics(counts.shift() ?? 0, "10.0.0.9/30000") });
    await deliver(1);
    await clock.advance(60_000);
    expect(log.filter((line) => line.endsWith("playing"))).toEqual(["1500 1 playing"]);
  });

  it("silence a phone that accepts after a cancellation", async () => {
    let accept = (): void => {};
    const { clock, log, deliver, stop } = stage({
      push: () =>
        new Promise((resolve) => {
          accept = () => resolve({ kind: "accepted" });
        }),
    });
    await deliver(1);
    await clock.advance(100);
    await stop("aborted", 1, 99);
    await clock.advance(100);
    accept();
    await clock.advance(0);
    await clock.advance(10_000);
    expect(log).toEqual([
      "0 pushes page+sound",
      "200 1 accepted",
      "200 commands RTPMRx:Stop Init:Services",
      "200 1 accepted",
    ]);
  });

  it("clear a text after its duration, unless it was replaced", async () => {
    const { clock, log, deliver } = stage();
    const profile = { ...DEFAULT_PROFILE, durationMs: 5_000 };
    await deliver(1, { audio: null, profile });
    await clock.advance(3_000);
    await deliver(2, { audio: null });
    await clock.advance(60_000);
    expect(log).toEqual(["0 pushes page", "0 1 accepted", "3000 pushes page", "3000 2 accepted"]);
    await deliver(3, { audio: null, profile });
    await clock.advance(5_000);
    expect(log.at(-1)).toBe("68000 commands Init:Services");
  });

  it("stop audio without clearing a later text", async () => {
    const { log, deliver, stop } = stage();
    await deliver(1);
    await deliver(2, { audio: null });
    await stop("ended", 1);
    expect(log).toContain("0 commands RTPMRx:Stop");
  });

  it("show no page for audio-only messages, except on phones without audio or with an idle test", async () => {
    const { log, deliver, stop } = stage();
    const profile = { ...DEFAULT_PROFILE, showsText: false };
    await deliver(1, { profile });
    await stop("ended", 1);
    await deliver(2, { profile, audio: null });
    await deliver(3, { profile: { ...profile, skipPhonesInUse: true } });
    expect(log.filter((line) => /pushes|commands/.test(line))).toEqual([
      "0 pushes sound",
      "0 commands RTPMRx:Stop",
      "0 pushes page",
      "0 pushes page",
      "0 pushes sound",
    ]);
  });

  it("play a ring tone without audio", async () => {
    const { log, deliver } = stage();
    const profile = { ...DEFAULT_PROFILE, ringtone: "Analog1.raw" };
    await deliver(1, { profile, audio: null });
    await deliver(2, { profile });
    expect(log).toEqual([
      ...["0 pushes page", "0 1 accepted", "0 commands Play:Analog1.raw"],
      ...["0 pushes page+sound", "0 2 accepted"],
    ]);
  });

  it("play an emergency during a ring tone", async () => {
    const { clock, log, deliver } = stage({ command: () => new Promise(() => undefined) });
    await deliver(1, { profile: { ...DEFAULT_PROFILE, ringtone: "Long.raw" }, audio: null });
    await deliver(2, { priority: 0, class: "emergency" });
    await clock.advance(500);
    expect(log.at(-1)).toBe("500 2 accepted");
  });

  it("leave a failed phone alone on cancellation", async () => {
    const failed = { kind: "failed", reason: "connection refused", retryable: true } as const;
    const { clock, log, deliver, stop } = stage({ push: async () => failed });
    await deliver(1);
    await stop("aborted", 2);
    await clock.advance(10);
    await stop("aborted", 1);
    await clock.advance(10_000);
    expect(log).toEqual(["0 pushes page+sound", "0 1 failed connection refused"]);
  });

  it("are followed up only if they were reached", async () => {
    const { clock, log, deliver, stop } = stage({ statistics: () => statistics(3) });
    await deliver(1, { reached: "accepted" });
    await deliver(2, { reached: "playing" });
    await clock.advance(5_000);
    await stop("aborted", 2);
    await clock.advance(5_000);
    expect(log).toEqual(["750 asks", "750 1 playing", "5000 commands RTPMRx:Stop Init:Services", "5000 2 playing"]);
  });

  it("are dropped an hour after they became useless", async () => {
    const { clock, log, deliveries, deliver, stop } = stage();
    await deliver(1, { audio: null, notAfter: clock.now() + 1_000 });
    await clock.advance(3_600_000);
    deliveries.sweep();
    await stop("aborted", 1);
    expect(log.at(-2)).toBe("3600000 commands Init:Services");
    await deliver(2, { audio: null, notAfter: clock.now() + 1_000 });
    await clock.advance(3_602_000);
    deliveries.sweep();
    const before = log.length;
    await stop("aborted", 2);
    expect(log).toHaveLength(before);
  });

  it("replay a dropped emergency with backoff", async () => {
    let packets = 10;
    const { clock, log, deliver, stop } = stage({ statistics: () => statistics(packets) });
    await deliver(1, { priority: 0, class: "emergency" });
    await clock.advance(500);
    expect(log.at(-1)).toBe("500 1 playing");
    packets = 200;
    await clock.advance(4_000);
    const before = log.length;
    await clock.advance(60_000);
    const again = log.slice(before).filter((line) => !line.endsWith("asks"));
    expect(again.filter((line) => line.includes("other way")).map((line) => Number(line.split(" ")[0]))).toEqual(
      // Looked at every 4 s; what was asked again needs two looks before it is known to stand still.
      [8_500, 16_500, 24_500, 32_500, 40_500, 56_500],
    );
    expect(again[1]).toBe("8500 1 playing the phone dropped the stream; replayed once");
    expect(again.at(-1)).toBe("56500 1 playing the phone dropped the stream; replayed 6 times");
    await stop("ended", 1);
    const ended = log.length;
    await clock.advance(60_000);
    expect(log.slice(ended)).toEqual([]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it("do not replay on playing phones, nor dropped routine messages", async () => {
    let packets = 10;
    const count = (): number => {
      packets += 200;
      return packets;
    };
    const playing = stage({ statistics: () => statistics(count()) });
    await playing.deliver(1, { priority: 0, class: "emergency" });
    await playing.clock.advance(30_000);
    expect(playing.log.filter((line) => line.includes("other way"))).toEqual([]);
    const routine = stage({ statistics: () => statistics(7) });
    await routine.deliver(1);
    await routine.clock.advance(30_000);
    expect(routine.log.slice(1)).toEqual(["0 1 accepted", "750 asks", "750 1 playing"]);
  });

  it("replay at once on a stop notification, and by push without the streaming API", async () => {
    let packets = 10;
    let status = "Active";
    const { clock, log, deliver, tellStopped } = stage({
      statistics() {
        packets += 9;
        return statistics(packets, undefined, status);
      },
    });
    await deliver(1, { priority: 0, class: "emergency" });
    await clock.advance(500);
    status = "Not Ready";
    await clock.advance(4_000);
    status = "Active";
    await clock.advance(1_100);
    tellStopped();
    await clock.advance(0);
    expect(log.slice(-2)).toEqual([
      "5600 asks by the other way",
      "5600 1 playing the phone dropped the stream; replayed 2 times",
    ]);
    const older = stage({ statistics: () => statistics(5, undefined, "Not Ready"), media: async () => "HTTP 400" });
    await older.deliver(1, { priority: 0, class: "emergency" });
    await older.clock.advance(4_500);
    expect(older.log.slice(-3)).toEqual([
      "4500 asks by the other way",
      "4500 pushes sound",
      "4500 1 playing the phone dropped the stream; replayed once",
    ]);
  });

  it("hedge an emergency push through the streaming API", async () => {
    const never = () => new Promise<PushOutcome>(() => {});
    const { clock, log, deliver } = stage({ push: never });
    await deliver(1, { priority: 0, class: "emergency" });
    await clock.advance(1_500);
    expect(log).toEqual([
      "0 pushes page+sound",
      "1500 asks by the other way",
      "1500 1 accepted accepted by the media API only; the text may be missing",
    ]);
    const late = stage({
      push: () => new Promise((resolve) => late.clock.after(2_000, () => resolve({ kind: "accepted" }))),
      media: async () => "busy",
    });
    await late.deliver(1, { priority: 0, class: "emergency" });
    await late.clock.advance(2_000);
    expect(late.log.at(-1)).toBe("2000 1 accepted");
  });
});
