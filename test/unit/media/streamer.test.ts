import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { BugError, UpstreamError } from "../../../src/lib/errors.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { workerEntry } from "../../../src/lib/worker-entry.ts";
import { encodeRtpPacket, initialRtpState } from "../../../src/media/rtp.ts";
import { createSrtpDecryptor } from "../../../src/media/srtp.ts";
import { resumeStream } from "../../../src/media/stream-resume.ts";
import { Streamer } from "../../../src/media/streamer.ts";
import type { StreamEnded, StreamSpec, StreamStarted } from "../../../src/media/streamer-messages.ts";
import { listenRtp, monotonicMs, type RtpListener } from "./rtp-listener.ts";

const SOURCES = new URL("../../../src/media/streamer.ts", import.meta.url).href;

/** Frame n holds the byte n alone. */
function frames(count: number): Uint8Array {
  const payload = new Uint8Array(new SharedArrayBuffer(count * 160));
  for (let n = 0; n < count; n++) payload.fill(n & 0xff, n * 160, (n + 1) * 160);
  return payload;
}

function specFor(listener: RtpListener, over: Partial<StreamSpec> = {}): StreamSpec {
  return {
    streamId: `stream-${listener.group}`,
    group: listener.group,
    port: listener.port,
    ttl: 1,
    networkInterface: "127.0.0.1",
    ssrc: 0xfeed0001,
    payloadType: 0,
    payload: frames(10),
    repeats: 1,
    offsetPackets: 0,
    ...over,
  };
}

describe("Streamer", () => {
  let workers: Worker[];
  let streamer: Streamer;
  let started: StreamStarted[];
  let ended: StreamEnded[];
  let onEnded: () => void;
  let listeners: RtpListener[];

  const newListener = async (): Promise<RtpListener> => {
    const listener = await listenRtp(listeners.length);
    listeners.push(listener);
    return listener;
  };

  const allEnded = async (count: number): Promise<StreamEnded[]> => {
    while (ended.length < count) {
      await new Promise<void>((resolve) => {
        onEnded = resolve;
      });
    }
    return ended;
  };

  beforeEach(async () => {
    [workers, started, ended, listeners] = [[], [], [], []];
    onEnded = () => undefined;
    const spawn = (): Worker => {
      const worker = new Worker(workerEntry(SOURCES, "./streamer-worker"));
      workers.push(worker);
      return worker;
    };
    streamer = new Streamer({ clock: systemClock, log: silentLog, spawn });
    streamer.on("started", (event) => started.push(event));
    streamer.on("ended", (event) => {
      ended.push(event);
      onEnded();
    });
    await streamer.start();
  });

  afterEach(async () => {
    await streamer.stop();
    for (const listener of listeners) listener.close();
  });

  it("sends every packet once, in order, with the marker on the first and 160 samples between two", async () => {
    const listener = await newListener();
    const spec = specFor(listener);
    await streamer.open(spec);
    expect(listener.arrivals).toEqual([]);
    streamer.startGroup([spec.streamId], Date.now() + 20);
    const arrivals = await listener.heard(10);
    const [end] = await allEnded(1);
    const origin = initialRtpState(spec.ssrc);
    expect(arrivals.map((arrival) => arrival.payload.equals(Buffer.alloc(160, arrivals.indexOf(arrival))))).toEqual(
      Array(10).fill(true),
    );
    expect(arrivals.map((arrival) => arrival.sequence)).toEqual(arrivals.map((_, n) => (origin.sequence + n) % 65_536));
    expect(arrivals.map((arrival) => arrival.timestamp)).toEqual(
      arrivals.map((_, n) => (origin.timestamp + 160 * n) % 2 ** 32),
    );
    expect(arrivals.map((arrival) => arrival.marker)).toEqual([true, ...Array(9).fill(false)]);
    expect(new Set(arrivals.map((arrival) => `${arrival.payloadType}/${arrival.ssrc}`))).toEqual(
      new Set([`0/${0xfeed0001}`]),
    );
    expect(end).toMatchObject({ streamId: spec.streamId, reason: "finished", packets: 10, sendErrors: 0 });
    expect(started).toEqual([{ streamId: spec.streamId, firstPacketAt: end?.firstPacketAt }]);
  });

  it("starts streams together and keeps both on the 20 ms grid", async () => {
    const [one, two] = [await newListener(), await newListener()];
    const specs = [specFor(one, { payload: frames(50) }), specFor(two, { payload: frames(50), ssrc: 7 })];
    await Promise.all(specs.map((spec) => streamer.open(spec)));
    const t0 = Date.now() + 30;
    streamer.startGroup(
      specs.map((spec) => spec.streamId),
      t0,
    );
    const [a, b] = [await one.heard(50), await two.heard(50)];
    await allEnded(2);
    const apart = a.map((arrival, n) => Math.abs(arrival.at - (b[n]?.at ?? 0))).sort((x, y) => x - y);
    expect(apart[25]).toBeLessThan(10);
    // The schedule is absolute: whatever happened in between, no packet is early and the whole does not stretch. What
    // holds the machine up makes packets late, never early, so the quickest of each half tell the grid.
    const quickest = (from: number): number =>
      Math.min(...a.slice(from, from + 25).map((arrival, n) => arrival.at - 20 * (from + n)));
    expect(Math.abs(quickest(25) - quickest(0))).toBeLessThan(100);
    for (const event of started) expect(event.firstPacketAt).toBeGreaterThanOrEqual(t0 - 2);
  });

  it("lets a latecomer join live: same frame, sequence and timestamp at the same time, no marker", async () => {
    const [one, two] = [await newListener(), await newListener()];
    const payload = frames(150);
    const spec = specFor(one, { payload });
    await streamer.open(spec);
    const t0 = Date.now() + 10;
    streamer.startGroup([spec.streamId], t0);
    await one.heard(10);
    const place = resumeStream(specFor(two, { payload }), t0, Date.now());
    await streamer.open(place?.spec as StreamSpec);
    streamer.startGroup([specFor(two).streamId], place?.t0Ms as number);
    const [first] = await two.heard(1);
    const offset = first?.payload[0] ?? 0;
    expect(offset).toBeGreaterThan(10);
    const [a, b] = [await one.heard(150), await two.heard(150 - offset)];
    await allEnded(2);
    expect(b).toHaveLength(150 - offset);
    const twin = a[offset];
    expect({ ...first, at: 0 }).toEqual({ ...twin, at: 0 });
    expect(first?.marker).toBe(false);
    const apart = b.map((arrival, n) => Math.abs(arrival.at - (a[offset + n]?.at ?? 0))).sort((x, y) => x - y);
    expect(apart[Math.floor(apart.length / 2)]).toBeLessThan(10);
  });

  it("plays other audio instead of the payload from its beginning, then continues with the payload", async () => {
    const listener = await newListener();
    const spec = specFor(listener, { payload: frames(1), repeats: Number.POSITIVE_INFINITY });
    await streamer.open(spec);
    streamer.startGroup([spec.streamId], Date.now());
    await listener.heard(2);
    const part = new Uint8Array(320).fill(7);
    streamer.play(spec.streamId, [part, new Uint8Array(160).fill(8)]);
    const before = listener.arrivals.length;
    const arrivals = await listener.heard(before + 8);
    streamer.end(spec.streamId);
    const heard = arrivals.map(({ payload }) => payload[0]).join("");
    expect(heard).toMatch(/^0+7780+$/);
    expect(arrivals.filter(({ marker }) => marker).map(({ payload }) => payload[0])).toEqual([0, 7]);
    expect(arrivals.map(({ sequence }) => (sequence - (arrivals[0]?.sequence ?? 0) + 65_536) % 65_536)).toEqual(
      arrivals.map((_, n) => n),
    );
  });

  it("ends a stream that never started", async () => {
    const listener = await newListener();
    await streamer.open(specFor(listener));
    streamer.end(specFor(listener).streamId);
    expect(await allEnded(1)).toMatchObject([{ reason: "stopped", packets: 0, firstPacketAt: null }]);
    expect(started).toEqual([]);
  });

  it("repeats as often as requested, and as often as requested later", async () => {
    const listener = await newListener();
    const spec = specFor(listener, { payload: frames(3), repeats: Number.POSITIVE_INFINITY });
    await streamer.open(spec);
    streamer.startGroup([spec.streamId], Date.now());
    await listener.heard(4);
    streamer.setRepeats(spec.streamId, 4);
    const [end] = await allEnded(1);
    expect(end).toMatchObject({ reason: "finished", packets: 12 });
    const arrivals = await listener.heard(12);
    expect(arrivals.map((arrival) => arrival.payload[0])).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    expect(arrivals.filter((arrival) => arrival.marker)).toHaveLength(1);
  });

  it("ends a stream at once", async () => {
    const listener = await newListener();
    const spec = specFor(listener, { payload: frames(500) });
    await streamer.open(spec);
    streamer.startGroup([spec.streamId], Date.now());
    await listener.heard(3);
    streamer.end(spec.streamId);
    const [end] = await allEnded(1);
    expect(end?.reason).toBe("stopped");
    expect(end?.packets).toBeLessThan(500);
    streamer.end(spec.streamId);
    await streamer.open(spec);
  });

  it("resumes at the right position when its thread dies, and encrypts across a sequence rollover", async () => {
    const listener = await newListener();
    const secrecy = { suite: "AES_CM_128_HMAC_SHA1_80", key: "A".repeat(40) } as const;
    let ssrc = 1;
    while (initialRtpState(ssrc).sequence < 65_440 || initialRtpState(ssrc).sequence > 65_500) ssrc++;
    const spec = specFor(listener, { payload: frames(200), ssrc, secrecy });
    await streamer.open(spec);
    const t0 = monotonicMs();
    streamer.startGroup([spec.streamId], Date.now());
    await listener.heard(5);
    await workers[0]?.terminate();
    const [end] = await allEnded(1);
    // The last packet may come in after the word of the end.
    const last = (initialRtpState(ssrc).sequence + 199) % 65_536;
    while (listener.arrivals.at(-1)?.sequence !== last) await listener.heard(listener.arrivals.length + 1);
    expect(workers).toHaveLength(2);
    expect(end).toMatchObject({ reason: "finished", firstPacketAt: started[0]?.firstPacketAt });
    expect(started).toHaveLength(1);
    const open = createSrtpDecryptor(secrecy);
    const arrivals = listener.arrivals.map((arrival) => {
      const plain = open(encodeRtpPacket(arrival, arrival.payload));
      return { ...arrival, payload: plain?.subarray(12) ?? Buffer.alloc(0) };
    });
    const [first] = arrivals;
    for (const arrival of arrivals) {
      const place = arrival.payload[0];
      if (place === undefined) throw new Error("a packet can't be opened");
      expect((arrival.sequence - (first?.sequence ?? 0) + 65_536) % 65_536).toBe(place);
      // On the old grid: late where the machine is slow, never early.
      expect(arrival.at - t0 - 20 * place).toBeGreaterThan(-10);
    }
    expect(arrivals.at(-1)?.payload[0]).toBe(199);
    expect(new Set(arrivals.map((arrival) => arrival.sequence)).size).toBe(arrivals.length);
    expect(arrivals.length).toBeLessThan(200);
  });

  it("drops streams after five failures, and tries again with the next stream", async () => {
    const listener = await newListener();
    const spec = specFor(listener, { payload: frames(3000) });
    await streamer.open(spec);
    streamer.startGroup([spec.streamId], Date.now());
    for (let failure = 0; failure < 5; failure++) {
      const before = listener.arrivals.length;
      await listener.heard(before + 1);
      await workers[failure]?.terminate();
    }
    expect(await allEnded(1)).toMatchObject([{ reason: "lost" }]);
    expect(workers).toHaveLength(5);
    await streamer.open(specFor(listener, { streamId: "next" }));
    expect(workers).toHaveLength(6);
    streamer.startGroup(["next"], Date.now());
    expect((await allEnded(2))[1]).toMatchObject({ streamId: "next", reason: "finished" });
  });

  it("rejects an unusable address, a duplicate id, an invalid payload, and everything once stopped", async () => {
    const listener = await newListener();
    await expect(streamer.open(specFor(listener, { networkInterface: "192.0.2.77" }))).rejects.toThrow(UpstreamError);
    await streamer.open(specFor(listener));
    await expect(streamer.open(specFor(listener))).rejects.toThrow(BugError);
    const broken = { streamId: "broken", payload: new Uint8Array(161) };
    await expect(streamer.open(specFor(listener, broken))).rejects.toThrow(BugError);
    await streamer.stop();
    await expect(streamer.open(specFor(listener, { streamId: "late" }))).rejects.toThrow(UpstreamError);
    expect(ended).toEqual([]);
  });
});
