import { describe, expect, it } from "vitest";
import { encodeRtpPacket, initialRtpState, ssrcOf } from "../../../src/media/rtp.ts";
import { resumeStream } from "../../../src/media/stream-resume.ts";
import type { StreamSpec } from "../../../src/media/streamer-messages.ts";
import { parseRtp } from "../../../src/tools/simulator/rtp.ts";

const PAYLOAD = Uint8Array.from({ length: 160 }, (_, n) => n);

describe("RTP packets", () => {
  it("have the layout of RFC 3550", () => {
    const header = { payloadType: 9, marker: true, sequence: 0x1234, timestamp: 0x89abcdef, ssrc: 0xfedcba98 };
    const packet = encodeRtpPacket(header, PAYLOAD);
    expect(packet.subarray(0, 12).toString("hex")).toBe("80891234" + "89abcdef" + "fedcba98");
    expect(packet.subarray(12)).toEqual(Buffer.from(PAYLOAD));
  });

  it("wrap sequence numbers and timestamps", () => {
    const at = (sequence: number, timestamp: number) =>
      parseRtp(encodeRtpPacket({ payloadType: 0, marker: false, sequence, timestamp, ssrc: 1 }, PAYLOAD));
    expect(at(65_535, 2 ** 32 - 1)).toMatchObject({ sequence: 65_535, timestamp: 2 ** 32 - 1, marker: false });
    expect(at(65_536, 2 ** 32 + 159)).toMatchObject({ sequence: 0, timestamp: 159 });
    expect(at(3 * 65_536 + 7, 5 * 2 ** 32 + 7)).toMatchObject({ sequence: 7, timestamp: 7 });
  });

  it("have separate buffers", () => {
    const header = { payloadType: 0, marker: false, sequence: 1, timestamp: 1, ssrc: 1 };
    const [one, two] = [encodeRtpPacket(header, PAYLOAD), encodeRtpPacket(header, PAYLOAD)];
    one.fill(0);
    expect(two[2 + 12]).toBe(2);
  });
});

describe("the identity of a stream", () => {
  it("derives from the notification, and differs between notifications", () => {
    expect(ssrcOf("a")).toBe(ssrcOf("a"));
    const ids = Array.from({ length: 1000 }, (_, n) => ssrcOf(`notification-${n}`));
    expect(new Set(ids).size).toBe(1000);
    for (const ssrc of ids) expect(ssrc >>> 0).toBe(ssrc);
    expect(initialRtpState(ids[0] ?? 0)).toEqual(initialRtpState(ids[0] ?? 0));
    expect(new Set(ids.map((ssrc) => initialRtpState(ssrc).sequence)).size).toBeGreaterThan(950);
  });
});

describe("resuming after an interruption", () => {
  const spec: StreamSpec = {
    streamId: "s",
    group: "239.1.1.1",
    port: 20_480,
    ttl: 1,
    networkInterface: "127.0.0.1",
    ssrc: 1,
    payloadType: 0,
    payload: new Uint8Array(100 * 160),
    repeats: 2,
    offsetPackets: 0,
  };

  it("keeps the grid: the new offset is due at its original time", () => {
    for (const nowMs of [10_000, 10_001, 10_019.5, 10_700, 13_000]) {
      const place = resumeStream(spec, 10_000, nowMs);
      expect(place?.t0Ms).toBe(10_000 + 20 * (place?.spec.offsetPackets ?? Number.NaN));
      expect((place?.t0Ms ?? 0) - nowMs).toBeGreaterThanOrEqual(60);
      expect((place?.t0Ms ?? 0) - nowMs).toBeLessThan(80);
    }
  });

  it("adds to an existing offset, and keeps a future t0", () => {
    const place = resumeStream({ ...spec, offsetPackets: 50 }, 10_000, 10_940);
    expect(place).toMatchObject({ t0Ms: 11_000, spec: { offsetPackets: 100 } });
    expect(resumeStream(spec, 10_000, 9000)).toEqual({ spec, t0Ms: 10_000 });
  });

  it("ends with the last repetition, never for an endless stream", () => {
    expect(resumeStream(spec, 10_000, 10_000 + 199 * 20 - 60)?.spec.offsetPackets).toBe(199);
    expect(resumeStream(spec, 10_000, 10_000 + 199 * 20 - 59)).toBeNull();
    const endless = { ...spec, repeats: Number.POSITIVE_INFINITY };
    expect(resumeStream(endless, 10_000, 1_000_000)?.spec.offsetPackets).toBe(49_503);
  });
});
