import { describe, expect, it } from "vitest";
import type { DeliveryStatusRow } from "../../../../src/api-client/follow-deliveries.ts";
import { decodeWav, inspectWav } from "../../../../src/media/wav.ts";
import { channelResults, formatChannelTable } from "../../../../src/tools/demo/channel-results.ts";
import { createDemoRecording } from "../../../../src/tools/demo/demo-recording.ts";
import {
  type DemoReport,
  demoDifferences,
  demoFigures,
  formatDemoSummary,
  formatDemoTable,
} from "../../../../src/tools/demo/demo-results.ts";

const SENT_AT = 1_000_000;

const line = (id: string, level: DeliveryStatusRow["level"], reason: string | null = null): DeliveryStatusRow => ({
  deviceIdentifier: id,
  name: `Name of ${id}`,
  type: id.startsWith("zone") ? "speakers" : "phones",
  provider: id.startsWith("zone") ? "multicast-zones" : "ip-phones",
  level,
  reason,
  sentAt: new Date(SENT_AT + 50).toISOString(),
  acceptedAt: null,
  playingAt: level === "playing" ? new Date(SENT_AT + 900).toISOString() : null,
  provenAt: null,
  textOnly: false,
  endedAt: "2026-01-01T00:00:00.000Z",
  ...{ matchPValue: null, matchDelayMs: null, matchLevelDb: null },
});

const heard = (id: string, afterMs: number | null, exact: boolean | null = true) => ({
  deviceIdentifier: id,
  firstPacketAt: afterMs === null ? null : SENT_AT + afterMs,
  packets: afterMs === null ? 0 : 10,
  exact,
});

const LEDGER = [
  line("zone:1", "sent"),
  line("SEP2", "failed", "the phone cut the connection"),
  line("SEP1", "playing"),
];
const ACCOUNT: DemoReport = {
  agents: [],
  receptions: [],
  phones: [heard("SEP1", 400.4), heard("SEP2", null, null)],
  zones: [heard("zone:1", 401.6)],
};

describe("demo results", () => {
  it("counts delivery levels and received audio separately", () => {
    const figures = demoFigures(LEDGER, ACCOUNT, SENT_AT, 7.5499);
    expect(figures).toEqual({
      devices: 3,
      phones: { failed: 1, playing: 1 },
      zones: { sent: 1 },
      listened: { listeners: 2, exact: 2 },
      firstPacketMsP99: 402,
      seconds: 7.5,
    });
    expect(demoDifferences(figures, { phones: 2, offline: 1, zones: 1 })).toEqual([]);
  });

  it("lists all differences", () => {
    const account = { phones: [heard("SEP1", 400, false)], zones: [], agents: [], receptions: [] };
    const figures = demoFigures(LEDGER.slice(0, 2), account, SENT_AT, 1);
    expect(demoDifferences(figures, { phones: 2, offline: 0, zones: 1 })).toEqual([
      "devices: 2 instead of 3",
      "phones playing: 0 instead of 2",
      "phones failed: 1 instead of 0",
      "listeners: 1 instead of 3",
      "exact listeners: 0 instead of 3",
    ]);
    expect(
      demoFigures([], { phones: [], zones: [], agents: [], receptions: [] }, SENT_AT, 1).firstPacketMsP99,
    ).toBeNull();
  });

  it("computes the 99th percentile", () => {
    const phones = Array.from({ length: 100 }, (_, index) => heard(`SEP${index}`, 100 - index));
    expect(demoFigures([], { phones, zones: [], agents: [], receptions: [] }, SENT_AT, 1).firstPacketMsP99).toBe(99);
  });

  it("sorts phones before zones by name, and failures with their reasons last", () => {
    const [head, ...rows] = formatDemoTable(LEDGER, ACCOUNT, SENT_AT);
    expect(head).toMatch(/^Device +Identifier +Level +First packet +Audio +Reason$/);
    expect(rows.map((row) => row.split(/ {2,}/))).toEqual([
      ["Name of SEP1", "SEP1", "playing", "400 ms", "exact"],
      ["Name of zone:1", "zone:1", "sent", "402 ms", "exact"],
      ["Name of SEP2", "SEP2", "failed", "-", "-", "the phone cut the connection"],
    ]);
  });

  it("are summed up, with the phones that are off on purpose", () => {
    const figures = demoFigures(LEDGER, ACCOUNT, SENT_AT, 1);
    expect(formatDemoSummary(figures, { offline: 1 })).toEqual([
      "2 of 3 devices reached, 99 % of them heard the first packet within 402 ms.",
      "1 phone is switched off on purpose: the reason is above.",
    ]);
    expect(formatDemoSummary({ ...figures, firstPacketMsP99: null }, { offline: 3 })).toEqual([
      "2 of 3 devices reached.",
    ]);
  });
});

describe("results by channel", () => {
  const mail = { service: "mail", to: "a@school.example", words: "Hello\nall", packets: 0, at: 1 };
  const toMail = { ...line("a@school.example", "accepted"), provider: "email" };
  const acceptedAt = new Date(SENT_AT + 120).toISOString();

  it("succeeds if the message was received and the highest level was reached", () => {
    const results = channelResults(
      [...LEDGER, { ...toMail, acceptedAt }],
      { ...ACCOUNT, receptions: [mail] },
      "Hello",
      SENT_AT,
    );
    expect(results.find(({ channel }) => channel === "E-mail")).toEqual({
      channel: "E-mail",
      sent: 1,
      received: 1,
      proven: "accepted",
      ms: 120,
      ok: true,
    });
    expect(results.find(({ channel }) => channel === "Multicast zones")).toMatchObject({
      received: 1,
      ms: 50,
      ok: true,
    });
    expect(results.find(({ channel }) => channel === "IP phones")).toMatchObject({
      proven: "failed",
      ms: null,
      ok: false,
    });
    expect(formatChannelTable(results, LEDGER).at(-1)).toBe("Name of SEP2: the phone cut the connection");
  });

  it.each([
    ["nothing was sent", [], [mail]],
    ["the far end got nothing", [toMail], []],
    ["something else came", [toMail], [{ ...mail, words: "Other" }]],
    ["less is proven", [{ ...toMail, level: "sent" as const }], [mail]],
  ])("fails if %s", (_, ledger, receptions) => {
    const results = channelResults(ledger, { ...ACCOUNT, receptions }, "Hello", SENT_AT);
    expect(results.find(({ channel }) => channel === "E-mail")?.ok).toBe(false);
  });
});

describe("the demo's recording", () => {
  it("is a WAV file that an appliance plays, the same every time, without clipping", () => {
    const wav = createDemoRecording();
    expect(Buffer.from(createDemoRecording()).equals(Buffer.from(wav))).toBe(true);
    expect(inspectWav(wav)).toMatchObject({ rateHz: 16_000, channels: 1 });
    const samples = decodeWav(wav);
    expect(samples.length).toBeGreaterThan(2 * 8_000);
    const peak = samples.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    expect(peak).toBeGreaterThan(0.3);
    expect(peak).toBeLessThan(0.7);
  });
});
