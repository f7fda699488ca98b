import { describe, expect, it } from "vitest";
import { interpolate, interpolateAll, parseVariables } from "../../../../src/lib/interpolation.ts";
import { deliveryText } from "../../../../src/notifications/compose/delivery-text.ts";
import { parseSendingProfile, priorityLevelOf } from "../../../../src/notifications/compose/sending-profile.ts";
import { ONPREM_EXTENSION_ID } from "../../../../src/resources/devices/on-premises-extension.ts";

describe("interpolate", () => {
  it.each([
    ["{{a}} and {{ b }}", { a: "1", b: 2 }, "1 and 2"],
    ["{{a}}{{a}}", { a: true }, "truetrue"],
    ["{{a}}", { a: "{{b}}", b: "x" }, "{{b}}"],
    ["{{a}} {{c}}", { a: "" }, " {{c}}"],
    ["{{toString}} {{__proto__}}", { a: 1 }, "{{toString}} {{__proto__}}"],
    ["{a} {{}} {{{a}}}", { a: "x" }, "{a} {{}} {x}"],
    ["$& {{a}}", { a: "$&$1" }, "$& $&$1"],
    ["{{a}}", { a: null }, "{{a}}"],
    ["{{a}}", null, "{{a}}"],
  ])("turns %j with %j into %j", (text, vars, expected) => {
    expect(interpolate(text, parseVariables(vars))).toBe(expected);
  });

  it("takes linear time over a hostile text", () => {
    const text = "{{ ".repeat(50_000);
    const began = process.cpuUsage();
    expect(interpolate(text, new Map([["a", "b"]]))).toBe(text);
    // Square time would take many seconds.
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(2_000);
  });
});

describe("interpolateAll", () => {
  it.each([
    ["{{a}} and {{b}}", { a: "1", b: "2" }, "1 and 2", []],
    ["Meet at {{place}} now", {}, "Meet at now", ["place"]],
    ["Meet at {{place}}.", {}, "Meet at.", ["place"]],
    ["Meet at {{ place }}", {}, "Meet at", ["place"]],
    ["{{who}}: come", {}, ": come", ["who"]],
    ["Room {{a}}{{b}}!", { b: "7" }, "Room 7!", ["a"]],
    ["{{a}} {{a}} {{c}}", {}, "", ["a", "c"]],
    ["{{who}} come\n{{who}} now", {}, "come\nnow", ["who"]],
    ["{{a}}", { a: "{{b}}" }, "{{b}}", []],
    ["{{a}}", { a: "" }, "", []],
    ["{a} {{}}", {}, "{a} {{}}", []],
    ["{{toString}}x", {}, "x", ["toString"]],
  ])("turns %j with %j into %j without %j", (text, vars, expected, names) => {
    const unfilled = new Set<string>();
    expect(interpolateAll(text, parseVariables(vars), unfilled)).toBe(expected);
    expect([...unfilled]).toEqual(names);
  });
});

describe("deliveryText", () => {
  it.each([
    ["Fire", null, false, "Fire"],
    ["Fire", "Leave\n  now.", false, "Fire - Leave now."],
    ["Fire", "Leave", true, "DRILL: Fire - Leave"],
    ["x".repeat(99), "y", false, `${"x".repeat(99)}…`],
    ["word ".repeat(30).trim(), null, false, `${"word ".repeat(19).trim()}…`],
    [`Fire ${"x".repeat(120)}`, null, false, `Fire ${"x".repeat(94)}…`],
    ["🔥".repeat(100), null, false, "🔥".repeat(100)],
    ["🔥".repeat(101), null, false, `${"🔥".repeat(99)}…`],
  ])("shortens %j / %j (drill: %j)", (subject, body, drill, short) => {
    expect(deliveryText({ subject, body, drill }).short).toBe(short);
    expect([...short].length).toBeLessThanOrEqual(100);
  });

  it("leaves subject and body whole", () => {
    const text = deliveryText({ subject: "Fire", body: "Leave\nnow", drill: false });
    expect(text).toMatchObject({ subject: "Fire", body: "Leave\nnow" });
  });
});

describe("parseSendingProfile", () => {
  const of = (extensionSettingsOverrides: unknown) => parseSendingProfile({ extensionSettingsOverrides });
  const read = (settings: object) => of({ [ONPREM_EXTENSION_ID]: settings });

  it("fills in defaults, and ignores other extensions", () => {
    const plain = {
      priority: null,
      volume: "As-Is",
      repetitions: 1,
      repetitionPauseMs: 0,
      ringtone: null,
      persistentText: false,
      skipPhonesInUse: false,
      queueingAllowed: true,
      repeatIndefinitely: false,
      isAudible: true,
      reachesDevices: true,
      skipUnresponsiveRecipients: false,
      ...{ showsText: true, concatenatedText: false, durationMs: null, scroll: null, synchronizedStart: true },
      queue: { limitMs: null, groupId: null, text: null },
    };
    expect(of(null)).toEqual(plain);
    expect(of({ "another-extension": { volume: "Loud" } })).toEqual(plain);
    expect(read({ repetitions: 3, repetitionPause: 1.5, volume: "Maximum", scrollSpeed: 7 })).toEqual({
      ...plain,
      repetitions: 3,
      repetitionPauseMs: 1_500,
      volume: "Maximum",
      scroll: { speed: 7, durationMs: null, repetitions: null },
    });
    expect(
      read({
        ...{ messageType: "Live Audio", concatenatedText: true, duration: 20, synchronizedDelivery: false },
        ...{ scrollDuration: 9, scrollRepetitions: 2 },
      }),
    ).toEqual({
      ...plain,
      ...{ showsText: false, concatenatedText: true, durationMs: 20_000, synchronizedStart: false },
      scroll: { speed: null, durationMs: 9_000, repetitions: 2 },
    });
    // 0 is no limit.
    expect(read({ duration: 0, scrollSpeed: 0, ringtone: "" })).toEqual(plain);
  });

  it.each([[{ volume: "Loud" }], [{ repetitions: 0 }], [{ priority: 0 }], [{ repetitionPause: -1 }], [[]], ["x"]])(
    "rejects %j",
    (settings) => {
      expect(() => read(settings as object)).toThrow(/extensionSettingsOverrides/);
    },
  );

  it.each([
    ["critical", "api", 7, 0],
    ["critical", "bell-schedule", null, 0],
    ["normal", "bell-schedule", 1, 4],
    ["normal", "api", null, 5],
    ["normal", "api", 1, 1],
    ["normal", "alarm", 40, 9],
  ] as const)("gives %s from %s with priority %j the level %d", (priority, source, own, level) => {
    expect(priorityLevelOf(priority, { source }, { priority: own })).toBe(level);
  });

  it("ranks live pages above bells and below emergencies", () => {
    const live = { source: "api", isLive: true } as const;
    expect(priorityLevelOf("normal", live, { priority: 1 })).toBe(3);
    expect(priorityLevelOf("critical", live, { priority: null })).toBe(0);
  });
});
