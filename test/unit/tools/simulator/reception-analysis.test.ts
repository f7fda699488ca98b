import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  analyzeReception,
  countReceivedPackets,
  createAnalysisCache,
  type ListeningSession,
  NOTHING_RECEIVED,
  type PacketLoss,
  type ReceivedAudio,
} from "../../../../src/tools/simulator/reception-analysis.ts";
import { parseRtp, type RtpPacket } from "../../../../src/tools/simulator/rtp.ts";
import type { RtpEndpoint } from "../../../../src/tools/simulator/rtp-endpoints.ts";
import { seededRandom } from "../../../../src/tools/simulator/seeded-random.ts";
import {
  addPacket,
  createStreamRecord,
  isPlayable,
  type StreamRecord,
} from "../../../../src/tools/simulator/stream-record.ts";
import { rtp } from "./simulator-fixture.ts";

const FRAMES = 40;
const T0 = 1000;
const NO_LOSS: PacketLoss = { share: 0, seed: 1, listener: 0 };
const payload = Uint8Array.from({ length: FRAMES * 160 }, (_, at) => Math.floor(seededRandom(1, at) * 256));
const programme = { payload, frames: FRAMES };
const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function packet(frame: number, ssrc = 9, change: (bytes: Uint8Array) => void = () => undefined): RtpPacket {
  const place = frame % FRAMES;
  const bytes = payload.slice(place * 160, (place + 1) * 160);
  change(bytes);
  return parseRtp(rtp(ssrc, frame, bytes)) as RtpPacket;
}

/** A stream of the given frames, frame n arriving at T0 + 20 n. */
function streamOf(frames: readonly number[], make = (frame: number): RtpPacket => packet(frame)): StreamRecord {
  const [first = 0, ...rest] = frames;
  const stream = createStreamRecord(make(first), T0 + 20 * first);
  for (const frame of rest) expect(addPacket(stream, make(frame), T0 + 20 * frame)).toBe(true);
  return stream;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, n) => from + n);
}

function hear(streams: StreamRecord[], stay: Partial<ListeningSession> = {}, loss = NO_LOSS): ReceivedAudio {
  const source: RtpEndpoint = { address: "239.1.1.1", port: 20_480, streams, discarded: 0 };
  const listening: ListeningSession = { source, joinedAt: T0 - 50, leftAt: null, ...stay };
  return analyzeReception(listening, loss, programme, createAnalysisCache());
}

describe("reception analysis", () => {
  it("is exact when every byte arrived, in any order, across the wrap of sequence numbers", () => {
    const inOrder = hear([streamOf(range(0, FRAMES))]);
    expect(inOrder).toEqual({
      firstPacketAt: T0,
      lastPacketAt: T0 + 20 * (FRAMES - 1),
      packets: FRAMES,
      lost: 0,
      ssrc: 9,
      payloadSha256: sha(payload),
      wrong: 0,
      exact: true,
    });
    const swapped = [0, 2, 1, ...range(3, 20), 21, 20, ...range(22, FRAMES)];
    expect(hear([streamOf(swapped)])).toMatchObject({ packets: FRAMES, payloadSha256: sha(payload), exact: true });
  });

  it("is exact for a truncated part, and for repetitions", () => {
    expect(hear([streamOf(range(0, 10))])).toMatchObject({ packets: 10, exact: true });
    expect(hear([streamOf(range(0, FRAMES))], { leftAt: T0 + 20 * 10 })).toMatchObject({ packets: 10, exact: true });
    expect(hear([streamOf(range(0, 3 * FRAMES))])).toMatchObject({ packets: 3 * FRAMES, exact: true });
  });

  it("is exact from the position at which a late listener joined", () => {
    const late = hear([streamOf(range(0, FRAMES))], { joinedAt: T0 + 20 * 15 + 5 });
    expect(late).toMatchObject({ packets: FRAMES - 16, exact: true, payloadSha256: sha(payload.subarray(16 * 160)) });
    // The socket was opened for the latecomer, so that the record itself begins in the middle.
    expect(hear([streamOf(range(16, FRAMES))], { joinedAt: T0 + 20 * 15 + 5 })).toMatchObject({ exact: true });
  });

  it("is exact for a late listener whose first packets waited for a busy simulator", () => {
    const delayed = createStreamRecord(packet(2), T0 + 20 * 2 + 150);
    for (const frame of range(3, FRAMES)) addPacket(delayed, packet(frame), T0 + Math.max(20 * frame, 20 * 2 + 150));
    expect(hear([delayed], { joinedAt: T0 + 25 })).toMatchObject({ packets: FRAMES - 2, exact: true });
    expect(hear([delayed], { joinedAt: T0 - 5 })).toMatchObject({ packets: FRAMES - 2, exact: false });
  });

  it("resynchronizes after a gap: packets are lost, none is wrong", () => {
    const heard = hear([streamOf([...range(0, 10), ...range(25, FRAMES)])]);
    expect(heard).toMatchObject({ packets: FRAMES - 15, lost: 15, wrong: 0, exact: false });
    const shifted = (frame: number): RtpPacket => ({ ...packet(frame + 1), sequence: packet(frame).sequence });
    const wrong = hear([streamOf([...range(0, 10), ...range(25, FRAMES)], (n) => (n < 25 ? packet(n) : shifted(n)))]);
    expect(wrong).toMatchObject({ lost: 15, wrong: FRAMES - 25 });
  });

  it("is not exact when a packet is missing, which is counted", () => {
    const holes = range(0, FRAMES).filter((frame) => frame !== 17 && frame !== 18);
    const heard = hear([streamOf(holes)]);
    expect(heard).toMatchObject({ packets: FRAMES - 2, lost: 2, exact: false });
    expect(heard.payloadSha256).toBe(sha(Buffer.concat([payload.subarray(0, 17 * 160), payload.subarray(19 * 160)])));
  });

  it("is not exact when a single bit differs", () => {
    const flip = (bytes: Uint8Array): void => {
      bytes[159] = (bytes[159] ?? 0) ^ 1;
    };
    const spoilt = streamOf(range(0, FRAMES), (frame) => packet(frame, 9, frame === 30 ? flip : undefined));
    expect(hear([spoilt])).toMatchObject({ packets: FRAMES, lost: 0, wrong: 1, exact: false });
    // Who left before it, or came after it, heard what was meant.
    expect(hear([spoilt], { leftAt: T0 + 20 * 30 })).toMatchObject({ exact: true });
    expect(hear([spoilt], { joinedAt: T0 + 20 * 30 + 1 })).toMatchObject({ exact: true });
  });

  it("is not exact for a listener that was in time and missed the beginning", () => {
    expect(hear([streamOf(range(3, FRAMES))])).toMatchObject({ packets: FRAMES - 3, exact: false });
    const marked = (frame: number): RtpPacket => ({ ...packet(frame), marker: frame === 3 });
    expect(hear([streamOf(range(3, FRAMES), marked)])).toMatchObject({ exact: false });
    expect(hear([streamOf(range(3, FRAMES), marked)], { joinedAt: T0 + 45 })).toMatchObject({ exact: false });
  });

  it("is skipped without expected audio, and empty without packets", () => {
    const source: RtpEndpoint = { address: "239.1.1.1", port: 20_480, streams: [streamOf([0, 1])], discarded: 0 };
    const listening = { source, joinedAt: 0, leftAt: null };
    expect(analyzeReception(listening, NO_LOSS, null, createAnalysisCache())).toMatchObject({
      packets: 2,
      exact: null,
    });
    expect(NOTHING_RECEIVED).toMatchObject({ firstPacketAt: null, packets: 0, wrong: null, exact: null });
    expect(hear([])).toEqual(NOTHING_RECEIVED);
    expect(hear([streamOf(range(0, 10))], { joinedAt: T0 + 5000 })).toEqual(NOTHING_RECEIVED);
    expect(hear([streamOf(range(0, 10))], { leftAt: T0 - 1 })).toEqual(NOTHING_RECEIVED);
  });

  it("uses the newest of several streams", () => {
    const second = streamOf(range(0, 5), (frame) => packet(frame, 10));
    expect(hear([streamOf(range(0, 10)), second])).toMatchObject({ ssrc: 10, packets: 5 });
    const source: RtpEndpoint = {
      address: "239.1.1.1",
      port: 20_480,
      streams: [streamOf(range(0, 10)), second],
      discarded: 0,
    };
    expect(countReceivedPackets({ source, joinedAt: 0, leftAt: null }, NO_LOSS)).toMatchObject({ packets: 5, lost: 0 });
  });

  it("lacks what the seed takes away, differently for every listener, the same every time", () => {
    const stream = streamOf(range(0, FRAMES));
    const lossy = (listener: number): ReceivedAudio => hear([stream], {}, { share: 0.25, seed: 1, listener });
    const one = lossy(1);
    expect(one.packets + one.lost).toBe(FRAMES);
    expect(one.lost).toBeGreaterThan(0);
    expect(one.exact).toBe(false);
    expect(lossy(1)).toEqual(one);
    expect(lossy(2).payloadSha256).not.toBe(one.payloadSha256);
    expect(hear([stream], {}, { share: 1, seed: 1, listener: 0 })).toMatchObject({
      packets: 0,
      lost: FRAMES,
      exact: null,
    });
  });
});

describe("the record of a stream", () => {
  it("drops duplicates and stragglers from before its beginning", () => {
    const stream = streamOf(range(5, 10));
    expect(addPacket(stream, packet(7), 0)).toBe(true);
    expect(addPacket(stream, packet(2), 0)).toBe(true);
    expect([stream.slots, stream.duplicates]).toEqual([5, 2]);
    expect(stream.arrivedAt[2]).toBe(T0 + 140);
  });

  it("ends where its sender started again", () => {
    const stream = streamOf(range(0, 200));
    expect(addPacket(stream, packet(4000), 0)).toBe(false);
    expect(addPacket(stream, packet(50), 0)).toBe(false);
    expect(addPacket(stream, packet(3000), 0)).toBe(true);
  });

  it("takes G.711 µ-law of 20 ms only", () => {
    expect(isPlayable(packet(0))).toBe(true);
    expect(isPlayable({ ...packet(0), payloadType: 9 })).toBe(false);
    expect(isPlayable({ ...packet(0), payload: Buffer.alloc(80) })).toBe(false);
  });
});
