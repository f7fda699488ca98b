import { describe, expect, it } from "vitest";
import { encodeRtpPacket } from "../../../src/media/rtp.ts";
import { createSrtpDecryptor, createSrtpEncryptor } from "../../../src/media/srtp.ts";
import { createStreamGuard, STREAM_SUITE } from "../../../src/speaker-agent/stream-guard.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const SSRC = 0xcafe0001;
const APPLIANCE = "10.0.0.1";
const ATTACKER = "10.0.0.66";
const SECRECY = { suite: STREAM_SUITE, key: Buffer.alloc(30, 7).toString("base64") };
const OTHER_KEY = { suite: STREAM_SUITE, key: Buffer.alloc(30, 8).toString("base64") };

function plain(sequence: number, ssrc = SSRC, fill = 1): Buffer {
  const header = { payloadType: 0, marker: false, sequence, timestamp: sequence * 160, ssrc };
  return encodeRtpPacket(header, new Uint8Array(160).fill(fill));
}

const from = (sender: string, datagram: Buffer) => ({ sender, datagram, zone: null });

/** A guard that counts what it had to authenticate, and the appliance's side of the stream. */
function scene(source: string | null = APPLIANCE) {
  const clock = createFakeClock();
  const decrypt = createSrtpDecryptor(SECRECY);
  let checked = 0;
  const guard = createStreamGuard(clock, { ssrc: SSRC, source, secrecy: SECRECY }, (packet) => {
    checked++;
    return decrypt(packet);
  });
  const encrypt = createSrtpEncryptor(SECRECY);
  const sealed = (sequence: number): Buffer => encrypt(plain(sequence), 0);
  return { clock, guard, sealed, checked: () => checked };
}

describe("the guard of an encrypted stream", () => {
  it("opens each packet of the appliance once, in any order", () => {
    const { guard, sealed } = scene();
    for (const sequence of [100, 102, 101, 103])
      expect(guard.open(from(APPLIANCE, sealed(sequence)))).toMatchObject({
        sequence,
        ssrc: SSRC,
        payload: Buffer.alloc(160, 1),
      });
    for (const sequence of [100, 101, 103]) expect(guard.open(from(APPLIANCE, sealed(sequence)))).toBeNull();
  });

  it.each([
    ["in clear", () => plain(101)],
    ["in clear with an invented tag", () => Buffer.concat([plain(101), Buffer.alloc(10, 5)])],
    ["of another SSRC with the right key", () => createSrtpEncryptor(SECRECY)(plain(101, 0xdead), 0)],
    ["with the key of an earlier stream", () => createSrtpEncryptor(OTHER_KEY)(plain(101), 0)],
    [
      "with a tag of 32 bits",
      () => createSrtpEncryptor({ ...SECRECY, suite: "AES_CM_128_HMAC_SHA1_32" })(plain(101), 0),
    ],
    ["without its tag", () => createSrtpEncryptor(SECRECY)(plain(101), 0).subarray(0, 172)],
    ["with half a tag", () => createSrtpEncryptor(SECRECY)(plain(101), 0).subarray(0, 177)],
    ["whose payload was changed", () => changed(createSrtpEncryptor(SECRECY)(plain(101), 0), 50)],
    ["whose sequence number was changed", () => changed(createSrtpEncryptor(SECRECY)(plain(101), 0), 3)],
    ["whose SSRC was changed to the announced one", () => resealed(0xdead)],
    ["of a far rollover", () => createSrtpEncryptor(SECRECY)(plain(101), 9)],
    ["that is empty", () => Buffer.alloc(0)],
    ["that is huge", () => Buffer.alloc(60_000, 0x80)],
  ])("refuses a packet %s, and plays on", (_what, attack) => {
    const { guard, sealed } = scene();
    expect(guard.open(from(APPLIANCE, sealed(100)))).not.toBeNull();
    for (const sender of [ATTACKER, APPLIANCE]) expect(guard.open(from(sender, attack()))).toBeNull();
    expect(guard.open(from(APPLIANCE, sealed(101)))).toMatchObject({ sequence: 101 });
  });

  it("refuses recorded packets, from whatever address they are repeated", () => {
    const { guard, sealed } = scene();
    const recorded = Array.from({ length: 200 }, (_, n) => sealed(1_000 + n));
    for (const packet of recorded) expect(guard.open(from(APPLIANCE, packet))).not.toBeNull();
    for (const packet of recorded) expect(guard.open(from(ATTACKER, packet))).toBeNull();
    for (const packet of recorded) expect(guard.open(from(APPLIANCE, packet))).toBeNull();
  });

  it("plays every packet of the appliance while garbage of others floods it, and checks little of that", async () => {
    const { clock, guard, sealed, checked } = scene();
    const garbage = Buffer.concat([plain(7), Buffer.alloc(10)]);
    let played = 0;
    for (let second = 0; second < 10; second++) {
      for (let n = 0; n < 50; n++) {
        for (let flood = 0; flood < 200; flood++) {
          garbage.writeUInt16BE((flood * 317 + n) & 0xffff, 2);
          guard.open(from(ATTACKER, garbage));
        }
        if (guard.open(from(APPLIANCE, sealed(500 + second * 50 + n)))) played++;
      }
      await clock.advance(1_000);
    }
    expect(played).toBe(500);
    // Of 100,000 packets: those that fit in the budget, and those of the stream.
    expect(checked()).toBeLessThan(500 + 100 + 10 * 100 + 1);
  });

  it("bounds its work when the appliance's address is forged, too", () => {
    const { guard, sealed, checked } = scene();
    expect(guard.open(from(APPLIANCE, sealed(500)))).not.toBeNull();
    const garbage = Buffer.concat([plain(501), Buffer.alloc(10)]);
    for (let n = 0; n < 100_000; n++) guard.open(from(APPLIANCE, garbage));
    expect(checked()).toBeLessThanOrEqual(501);
  });

  it("is not disturbed by forged packets that guess the sequence number wrongly", () => {
    const { guard, sealed } = scene();
    expect(guard.open(from(APPLIANCE, sealed(500)))).not.toBeNull();
    const garbage = Buffer.concat([plain(30_000), Buffer.alloc(10)]);
    for (let n = 0; n < 10_000; n++) guard.open(from(APPLIANCE, garbage));
    for (let n = 501; n < 700; n++) expect(guard.open(from(APPLIANCE, sealed(n)))).not.toBeNull();
  });

  it("follows the appliance to another address only by an authentic packet", () => {
    const { guard, sealed } = scene();
    expect(guard.open(from(APPLIANCE, sealed(1)))).not.toBeNull();
    expect(guard.open(from("10.1.0.1", sealed(2)))).not.toBeNull();
    expect(guard.open(from("10.1.0.1", sealed(3)))).not.toBeNull();
    const unknown = scene(null);
    expect(unknown.guard.open(from(ATTACKER, Buffer.concat([plain(1), Buffer.alloc(10)])))).toBeNull();
    expect(unknown.guard.open(from(APPLIANCE, unknown.sealed(1)))).not.toBeNull();
  });

  it("plays a stream in clear of an earlier appliance by SSRC and, if announced, by address", () => {
    const { clock } = scene();
    const open = createStreamGuard(clock, { ssrc: SSRC, source: null, secrecy: null });
    expect(open.open(from(ATTACKER, plain(1)))).toMatchObject({ sequence: 1 });
    expect(open.open(from(APPLIANCE, plain(2, 5)))).toBeNull();
    const bound = createStreamGuard(clock, { ssrc: SSRC, source: APPLIANCE, secrecy: null });
    expect(bound.open(from(ATTACKER, plain(1)))).toBeNull();
    expect(bound.open(from(APPLIANCE, plain(1)))).toMatchObject({ sequence: 1 });
  });
});

function changed(packet: Buffer, at: number): Buffer {
  packet[at] = (packet[at] ?? 0) ^ 1;
  return packet;
}

/** A packet of another stream with the right key, whose SSRC is then changed. */
function resealed(ssrc: number): Buffer {
  const packet = createSrtpEncryptor(SECRECY)(plain(101, ssrc), 0);
  packet.writeUInt32BE(SSRC, 8);
  return packet;
}
