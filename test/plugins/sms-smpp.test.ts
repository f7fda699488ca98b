import { afterEach, describe, expect, it } from "vitest";
import { createReceiptTracker, isReceiptText, parseDeliveryReceipt } from "../../plugins/sms/delivery-receipts.ts";
import { createInboundParts } from "../../plugins/sms/inbound-parts.ts";
import plugin from "../../plugins/sms/index.ts";
import { createSendPacing } from "../../plugins/sms/send-pacing.ts";
import { addressFields } from "../../plugins/sms/smpp-addresses.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";
import {
  COMMANDS,
  deliverBody,
  openRawSmppPeer,
  type RawSmppPeer,
  type RawVerdict,
  readSubmission,
} from "./raw-smpp-peer.ts";
import { SMS_DEFAULTS, textTo } from "./sms-config.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(verdict?: RawVerdict): Promise<RawSmppPeer> {
  const peer = await openRawSmppPeer(verdict);
  closing.push(peer.close);
  return peer;
}

async function bound(config: object, answer?: HandleHostCall): Promise<InlinePlugin> {
  const sms = await runInline(plugin, { config: { ...SMS_DEFAULTS, ...config }, ...(answer ? { answer } : {}) });
  closing.push(() => sms.close());
  await sms.said(({ state }) => state === "ok");
  return sms;
}

const ids =
  (...names: string[]): RawVerdict =>
  (_, count) => ({ id: names[count - 1] ?? `x${count}` });
const NUMBER = "+4915112345678";
const RECEIPTED_MESSAGE_ID = 0x001e;
const MESSAGE_STATE = 0x0427;
const MESSAGE_PAYLOAD = 0x0424;

/** A receipt of a peer: the id of the response, and the deliver_sm. */
const RECEIPTS: [string, string, Parameters<typeof deliverBody>[0], "accepted" | "failed" | null][] = [
  [
    "decimal for hexadecimal, with zeros",
    "0A1B2C11",
    {
      esmClass: 4,
      octets:
        "id:0169552913 sub:001 dlvrd:001 submit date:2611252250 done date:2611252251 stat:DELIVRD err:000 text:Fire",
    },
    "accepted",
  ],
  ["lower case and no zeros", "0A1B2C11", { esmClass: 4, octets: "id:a1b2c11 stat:DELIVRD" }, "accepted"],
  ["hexadecimal for decimal", "169552913", { esmClass: 4, octets: "id:0A1B2C11 stat:UNDELIV err:1b" }, "failed"],
  [
    "fields in another order and case",
    "abc_1",
    { esmClass: 4, octets: "Stat:delivrd ERR:000 ID:abc_1 Text:id:other" },
    "accepted",
  ],
  ["blanks after colons", "77", { esmClass: 4, octets: "id: 77 sub: 001 stat: EXPIRED text:" }, "failed"],
  [
    "truncated within the state",
    "42",
    { esmClass: 4, octets: "id:42 sub:001 dlvrd:001 done date:2611252251 stat:DELI" },
    "accepted",
  ],
  ["a spelled-out state", "42", { esmClass: 4, octets: "id:42 status:UNDELIVERABLE error:13" }, "failed"],
  [
    "parameters without text",
    "0AFF",
    {
      esmClass: 4,
      tlvs: [
        [RECEIPTED_MESSAGE_ID, Buffer.from("0aff\0")],
        [MESSAGE_STATE, Buffer.from([2])],
      ],
    },
    "accepted",
  ],
  [
    "parameters without the flag",
    "z9",
    {
      esmClass: 0,
      tlvs: [
        [RECEIPTED_MESSAGE_ID, Buffer.from("z9")],
        [MESSAGE_STATE, Buffer.from([8])],
      ],
    },
    "failed",
  ],
  [
    "text without the flag",
    "z9",
    { octets: "id:z9 sub:001 dlvrd:001 submit date:1 done date:2 stat:DELIVRD err:0 text:x" },
    "accepted",
  ],
  ["an acknowledgement of the handset", "z9", { esmClass: 8, octets: "id:z9 stat:DELIVRD" }, "accepted"],
  ["an acknowledgement by hand", "z9", { esmClass: 0x10, octets: "id:z9 stat:DELIVRD" }, "accepted"],
  [
    "with the bit of a header",
    "z9",
    { esmClass: 0x44, octets: Buffer.from("\x05\0\x03\x01\x01\x01id:z9 stat:DELIVRD", "latin1") },
    "accepted",
  ],
  [
    "in the payload parameter",
    "z9",
    { esmClass: 4, tlvs: [[MESSAGE_PAYLOAD, Buffer.from("id:z9 stat:REJECTD")]] },
    "failed",
  ],
  ["in Latin-1", "z@9", { esmClass: 4, coding: 3, octets: "id:z@9 stat:DELIVRD" }, "accepted"],
  ["an intermediate notification", "z9", { esmClass: 0x20, octets: "id:z9 stat:DELIVRD" }, null],
  ["an intermediate state", "z9", { esmClass: 4, octets: "id:z9 stat:ACCEPTD" }, null],
];

describe("receipts of SMPP peers", () => {
  it.each(RECEIPTS)("%s", async (_, id, delivery, expected) => {
    const peer = await open(ids(id));
    const heard: unknown[] = [];
    const sms = await bound({ port: peer.port }, ({ method, args }) => {
      if (method === "receive") heard.push(args[0]);
      return { kind: "stopped" };
    });
    sms.deliver(textTo(1, NUMBER, "Leave"));
    await sms.outcome(1, "sent");
    peer.send(COMMANDS.deliverSm, deliverBody(delivery));
    const response = await peer.came(({ command }) => command === COMMANDS.response + COMMANDS.deliverSm);
    expect(response).toMatchObject({ status: 0, sequence: 77 });
    if (expected !== null) await sms.outcome(1, expected);
    expect(sms.levels(1)).toEqual(expected === null ? ["sent"] : ["sent", expected]);
    expect(heard).toEqual([]);
  });

  it("are accepted in data_sm as well", async () => {
    const peer = await open(ids("0AFF"));
    const sms = await bound({ port: peer.port });
    sms.deliver(textTo(1, NUMBER, "Leave"));
    await sms.outcome(1, "sent");
    const addresses = Buffer.from("\0\x01\x014915112345678\0\x01\x0115550100\0\x04\0\0", "latin1");
    const parameters = Buffer.from("\0\x1e\0\x042815\x04\x27\0\x01\x02", "latin1");
    peer.send(COMMANDS.dataSm, Buffer.concat([addresses, parameters]));
    await sms.outcome(1, "accepted");
  });

  it("never confuse two messages", () => {
    const outcomes: [number, string | null][] = [];
    const ambiguous: string[] = [];
    const start = () =>
      createReceiptTracker(
        createFakeClock(),
        (id, error) => void outcomes.push([id, error]),
        (name) => void ambiguous.push(name),
      );
    const receipt = (name: string, numbers: string[] = []) => ({ name, arrived: true, state: "DELIVRD", numbers });
    // "16" is the id of the first message, and 0x10 of the second one.
    const exact = start();
    exact.expect(1, ["16"], "+4915100000001");
    exact.expect(2, ["10"], "+4915100000002");
    exact.handle(receipt("16"));
    expect(outcomes.splice(0)).toEqual([[1, null]]);
    const byNumber = start();
    byNumber.expect(1, ["16"], "+4915100000001");
    byNumber.expect(2, ["10"], "+4915100000002");
    byNumber.handle(receipt("16", ["4915100000002", "15550100"]));
    byNumber.handle(receipt("22", ["015100000001"]));
    expect(outcomes.splice(0)).toEqual([
      [2, null],
      [1, null],
    ]);
    // 0x20 and "0032" (decimal 32 is 0x20): neither is spelled like "032".
    const unclear = start();
    unclear.expect(1, ["20"], "+4915100000001");
    unclear.expect(2, ["0032"], "+4915100000002");
    unclear.handle(receipt("032"));
    expect(outcomes).toEqual([]);
    expect(ambiguous).toEqual(["032"]);
    unclear.handle(receipt("032", ["4915100000001"]));
    expect(outcomes.splice(0)).toEqual([[1, null]]);
    // The other base does not count against the number of the receipt.
    const other = start();
    other.expect(1, ["10"], "+4915100000001");
    other.handle(receipt("16", ["4915100000009", "15550100"]));
    expect(outcomes).toEqual([]);
  });

  it("are kept for the response by any spelling, but not for long", async () => {
    const outcomes: number[] = [];
    const clock = createFakeClock();
    const tracker = createReceiptTracker(clock, (id) => void outcomes.push(id));
    tracker.handle({ name: "0169552913", arrived: true, state: "DELIVRD" });
    tracker.expect(1, ["0A1B2C11"]);
    tracker.handle({ name: "late", arrived: true, state: "DELIVRD" });
    await clock.advance(61_000);
    tracker.expect(2, ["late"]);
    expect(outcomes).toEqual([1]);
    for (let at = 0; at < 5_000; at++) tracker.handle({ name: `n${at}`, arrived: true, state: "DELIVRD" });
    tracker.expect(3, ["n0"]);
    tracker.expect(4, ["n4999"]);
    expect(outcomes).toEqual([1, 4]);
  });

  it("are distinguished from incoming messages", () => {
    expect(isReceiptText("id: I am at school, stat: fine")).toBe(false);
    expect(isReceiptText("My id:4 and done date:tomorrow")).toBe(false);
    expect(parseDeliveryReceipt({}, "id: sub:001 stat:DELIVRD").name).toBe("");
    expect(parseDeliveryReceipt({}, "stat:UNDELIV err:045 id:9 text:stat:DELIVRD id:7")).toEqual({
      name: "9",
      arrived: false,
      state: "UNDELIV, error 045",
    });
  });
});

describe("texts of SMPP peers", () => {
  const parts = (esmClass: number, octets: Buffer, tlvs: [number, Buffer][] = []) => ({ esmClass, octets, tlvs });

  it("are assembled from parts, in any order", async () => {
    const peer = await open();
    const heard: unknown[] = [];
    const sms = await bound({ port: peer.port }, ({ method, args }) => {
      if (method === "receive") heard.push((args[0] as { text: string }).text);
      return { kind: "joined", list: "x" };
    });
    const send = (delivery: object): void => peer.send(COMMANDS.deliverSm, deliverBody(delivery));
    send(parts(0x40, Buffer.from("\x05\0\x03\x07\x02\x02is over", "latin1")));
    send(parts(0x40, Buffer.from("\x05\0\x03\x07\x02\x01The fire ", "latin1")));
    send(parts(0x40, Buffer.from("\x06\x08\x04\x01\x02\x02\x01Everyone ", "latin1")));
    send(parts(0x40, Buffer.from("\x06\x08\x04\x01\x02\x02\x02is safe", "latin1")));
    const sar = (number: number): [number, Buffer][] => [
      [0x020c, Buffer.from([0, 9])],
      [0x020e, Buffer.from([2])],
      [0x020f, Buffer.from([number])],
    ];
    send(parts(0, Buffer.from("One "), sar(1)));
    send(parts(0, Buffer.from("two"), sar(2)));
    send({ coding: 8, tlvs: [[MESSAGE_PAYLOAD, Buffer.from("\0S\0T\0O\0P\x04\x16", "latin1")]] });
    await sms.called(4);
    expect(heard).toEqual(["The fire is over", "Everyone is safe", "One two", "STOPЖ"]);
    await expect.poll(() => peer.received.filter(({ command }) => command === 0x8000_0005).length).toBe(7);
  });

  it("are joined within bounds, and with a gap when a part is missing", async () => {
    const clock = createFakeClock();
    const stored: string[] = [];
    let isDiskFull = false;
    const inbound = createInboundParts(clock, new AbortController().signal, async ({ text }) => {
      if (!isDiskFull) stored.push(text);
      return !isDiskFull;
    });
    const part = (number: number, total: number, reference = 1) => ({ reference, total, number });
    const from = { from: "1", to: "2" };
    await inbound.add({ ...from, text: "a", part: part(1, 3) });
    await inbound.add({ ...from, text: "a", part: part(1, 3) });
    await inbound.add({ ...from, text: "c", part: part(3, 3) });
    await clock.advance(400_000);
    expect(stored).toEqual(["a…c"]);
    await inbound.add({ ...from, text: "a", part: part(1, 2, 2) });
    isDiskFull = true;
    expect(await inbound.add({ ...from, text: "b", part: part(2, 2, 2) })).toBe(false);
    isDiskFull = false;
    expect(await inbound.add({ ...from, text: "b", part: part(2, 2, 2) })).toBe(true);
    expect(stored).toEqual(["a…c", "ab"]);
    for (let at = 0; at < 700; at++) await inbound.add({ ...from, text: `${at}`, part: part(1, 2, 1_000 + at) });
    expect(stored.length).toBe(202);
  });
});

describe("an SMPP connection", () => {
  it("responds to requests it does not know, and to unbind", async () => {
    const peer = await open();
    const sms = await bound({ port: peer.port });
    peer.send(COMMANDS.enquireLink, Buffer.alloc(0), 5);
    await peer.came(({ command, sequence }) => command === 0x8000_0015 && sequence === 5);
    peer.send(0x0000_0999, Buffer.from("what"), 6);
    expect(await peer.came(({ sequence }) => sequence === 6)).toMatchObject({ command: 0x8000_0000, status: 3 });
    peer.send(COMMANDS.unbind, Buffer.alloc(0), 7);
    await peer.came(({ command }) => command === 0x8000_0006);
    await sms.said(({ state }) => state === "down");
  });

  it.each([
    ["a PDU that is too long", Buffer.from("7fffffff000000050000000000000001", "hex")],
    ["a parameter that is longer than its PDU", Buffer.from("00000015000000050000000000000001" + "0000000000", "hex")],
  ])("ends after %s", async (_, octets) => {
    const peer = await open();
    const sms = await bound({ port: peer.port });
    peer.write(octets);
    peer.write(Buffer.from("ffffffff", "hex"));
    await sms.said(({ state }) => state === "down");
  });

  it("slows down while the provider throttles, and does not send parts twice", async () => {
    const peer = await open((_, count) => (count === 2 ? { status: 0x58 } : { id: `r${count}` }));
    const sms = await bound({ port: peer.port, mostParts: 2, language: "en" });
    sms.deliver(textTo(1, NUMBER, "a".repeat(200)));
    await sms.outcome(1, "sent");
    const sent = peer.received.filter(({ command }) => command === COMMANDS.submitSm);
    const numbers = sent.map(({ body }) => readSubmission(body).octets[5]);
    expect(numbers).toEqual([1, 2, 2]);
    const full = await open(() => ({ status: 0x14 }));
    const other = await bound({ port: full.port });
    other.deliver(textTo(2, NUMBER, "x"));
    expect(await other.outcome(2, "failed")).toMatchObject({
      details: { reason: "refused by the provider (ESME_RMSGQFUL)", retryable: true, retryAfterMs: expect.any(Number) },
    });
  });

  it("paces messages after throttling, and recovers", async () => {
    const clock = createFakeClock();
    const pacing = createSendPacing(clock);
    const { signal } = new AbortController();
    expect(pacing.slowDown()).toBe(1_000);
    // Throttled with the first one, so the pause stays the same.
    expect(pacing.slowDown()).toBe(1_000);
    const sent: number[] = [];
    const send = () => pacing.ready(signal).then(() => void sent.push(clock.monotonicMs()));
    for (let count = 0; count < 3; count++) void send();
    await clock.advance(999);
    expect(sent).toEqual([]);
    await clock.advance(1_000);
    expect(sent).toEqual([1_000, 1_020, 1_040]);
    expect(pacing.slowDown()).toBe(2_000);
    for (let count = 0; count < 50; count++) pacing.speedUp();
    await clock.advance(2_000);
    for (let count = 0; count < 3; count++) void send();
    await clock.advance(0);
    expect(sent.slice(3)).toEqual([clock.monotonicMs(), clock.monotonicMs(), clock.monotonicMs()]);
  });

  it.each([
    ["+15550100", {}, [1, 1, "15550100"]],
    ["4915112345678", {}, [1, 1, "4915112345678"]],
    ["015112345678", {}, [2, 1, "015112345678"]],
    ["80808", {}, [3, 0, "80808"]],
    ["School", {}, [5, 0, "School"]],
    ["80808", { senderTon: 6, senderNpi: 9 }, [6, 9, "80808"]],
    [null, {}, [0, 1, ""]],
  ])("sends the type of the sender %s", (sender, given, [ton, npi, address]) => {
    const rules = { senderTon: null, senderNpi: null, recipientTon: null, recipientNpi: null, sender, ...given };
    const fields = addressFields("+4915112345678", rules);
    expect(fields).toMatchObject({ source_addr_ton: ton, source_addr_npi: npi, source_addr: address });
    expect(fields).toMatchObject({ dest_addr_ton: 1, dest_addr_npi: 1, destination_addr: "4915112345678" });
  });

  it("sends the configured types as octets", async () => {
    const peer = await open();
    const sms = await bound({ port: peer.port, sender: "School", recipientTon: 0, recipientNpi: 0 });
    sms.deliver(textTo(1, NUMBER, "x"));
    await sms.outcome(1, "sent");
    const { body } = await peer.came(({ command }) => command === COMMANDS.submitSm);
    expect(readSubmission(body)).toMatchObject({
      sourceTon: 5,
      sourceNpi: 0,
      source: "School",
      targetTon: 0,
      targetNpi: 0,
    });
  });
});
