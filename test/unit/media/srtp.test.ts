import { describe, expect, it } from "vitest";
import {
  applySrtpKeystream,
  createSrtcpDecryptor,
  createSrtpDecryptor,
  createSrtpEncryptor,
  deriveSrtpSessionKeys,
  type SrtpMasterKey,
} from "../../../src/media/srtp.ts";

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ""), "hex");
const KEY = hex("E1F97A0D3E018BE0D64FA32C06DE4139 0EC675AD498AFEEBB6960B3AABE6").toString("base64");
const MASTER: SrtpMasterKey = { suite: "AES_CM_128_HMAC_SHA1_80", key: KEY };

function packetOf(sequence: number, sound = "ab".repeat(16)): Buffer {
  const packet = hex(`800f0000 decafbad cafebabe ${sound}`);
  packet.writeUInt16BE(sequence, 2);
  return packet;
}

describe("SRTP", () => {
  it("has the key stream of RFC 3711 B.2", () => {
    const keys = { key: hex("2B7E151628AED2A6ABF7158809CF4F3C"), salt: hex("F0F1F2F3F4F5F6F7F8F9FAFBFCFD") };
    const stream = applySrtpKeystream({ ...keys, auth: Buffer.alloc(0) }, 0, 0, Buffer.alloc(48));
    expect(stream).toEqual(
      hex("E03EAD0935C95E80E166B16DD92B4EB4 D23513162B02D0F72A43A2FE4A5F97AB 41E95B3BB0A2E8DD477901E4FCA894C0"),
    );
  });

  it("derives the keys of RFC 3711 B.3", () => {
    expect(deriveSrtpSessionKeys(MASTER, 0)).toEqual({
      key: hex("C61E7A93744F39EE10734AFE3FF7A087"),
      salt: hex("30CBBC08863D8C85D49DB34A9AE1"),
      auth: hex("CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4"),
    });
  });

  it("interoperates with reference packets, RTP and RTCP", () => {
    const sound = "800f1234decafbadcafebabe 4e55dc4ce79978d88ca4d215949d2402 b78d6acc99ea179b8dbb";
    expect(createSrtpEncryptor(MASTER)(packetOf(0x1234), 0)).toEqual(hex(sound));
    expect(createSrtpDecryptor(MASTER)(hex(sound))).toEqual(packetOf(0x1234));
    const report = hex("81c8000bcafebabe 7128035be487b9bdbef89041f977a5a8 80000001 993e08cd54d6c1230798");
    const open = createSrtcpDecryptor(MASTER);
    expect(open(report)).toEqual(hex(`81c8000bcafebabe ${"ab".repeat(16)}`));
    expect(open(report)).toBeNull();
    report[30] = 0;
    expect(createSrtcpDecryptor(MASTER)(report)).toBeNull();
    expect(createSrtcpDecryptor(MASTER)(report.subarray(0, 15))).toBeNull();
  });

  it.each(["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"] as const)(
    "decrypts each packet once with %s, in any order and across a rollover, and never a modified one",
    (suite) => {
      const seal = createSrtpEncryptor({ suite, key: KEY });
      const open = createSrtpDecryptor({ suite, key: KEY });
      const places = [65_534, 65_536, 65_535, 65_537];
      for (const place of places) {
        const sealed = seal(packetOf(place % 65_536), Math.floor(place / 65_536));
        const changed = Buffer.from(sealed);
        changed[13] = (changed[13] ?? 0) ^ 1;
        expect(open(changed), String(place)).toBeNull();
        expect(open(sealed), String(place)).toEqual(packetOf(place % 65_536));
        expect(open(sealed)).toBeNull();
      }
      expect(seal(packetOf(1), 0)).toHaveLength(28 + (suite.endsWith("80") ? 10 : 4));
    },
  );

  it("begins after a rollover if everything before was lost", () => {
    const seal = createSrtpEncryptor(MASTER);
    const open = createSrtpDecryptor(MASTER);
    expect(open(seal(packetOf(3), 2))).toBeNull();
    expect(open(seal(packetOf(3), 1))).toEqual(packetOf(3));
    expect(open(seal(packetOf(4), 1))).toEqual(packetOf(4));
    expect(open(seal(packetOf(65_535), 0))).toEqual(packetOf(65_535));
    expect(open(seal(packetOf(3), 1))).toBeNull();
  });

  it("rejects forged packets", () => {
    const open = createSrtpDecryptor(MASTER);
    for (const packet of ["", "80", "9f".repeat(20), "ff".repeat(200), `90${"00".repeat(11)}0000ffff`])
      expect(open(hex(packet))).toBeNull();
  });
});
