import { describe, expect, it } from "vitest";
import {
  activeDurationMs,
  activeNotifications,
  messageVerdict,
  notificationState,
} from "../../../../src/console/web/api/notification-state.ts";
import type { DeliveryRow } from "../../../../src/console/web/api/rows.ts";
import {
  expressionError,
  groupBodyOf,
  groupDraftOf,
  isGroupComplete,
} from "../../../../src/console/web/features/devices/group-definition.ts";
import { deviceBody, NEW_DEVICE } from "../../../../src/console/web/features/devices/new-device.ts";
import { deliveryCsv } from "../../../../src/console/web/features/notifications/delivery-csv.ts";
import { compileCatalogue } from "../../../../src/console/web/i18n/compile-catalogue.ts";
import de from "../../../../src/console/web/i18n/de.json" with { type: "json" };
import en from "../../../../src/console/web/i18n/en.json" with { type: "json" };
import { dateFormats, elapsedText } from "../../../../src/console/web/i18n/format.ts";
import { createTranslator } from "../../../../src/console/web/i18n/translator.ts";
import { changedValues, fieldsOf, formFields, mergedValues } from "../../../../src/console/web/ui/form/form-fields.ts";
import incidentActivities from "../../../../src/resources/incidents/incident-activities.ts";
import type { DeliveryLevel } from "../../../../src/resources/notifications/delivery-levels.ts";
import { DEVICE_OUTCOMES, REACH_VERDICTS } from "../../../../src/resources/notifications/device-outcomes.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "../../../../src/resources/notifications/notification-activity-types.ts";
import { countOutcomes, reachVerdict } from "../../../../src/resources/notifications/outcome-counts.ts";

describe("a broadcast", () => {
  const reachOf = (levels: Partial<Record<DeliveryLevel, number>>) => {
    const entries = Object.entries(levels) as [DeliveryLevel, number][];
    const outcomes = countOutcomes(entries.map(([level, n]) => ({ level, n, textOnly: false })));
    return { outcomes, verdict: reachVerdict(outcomes) };
  };
  const progress = { percentComplete: 0, broadcastFailedCount: 0, expireCount: 0, ...reachOf({}) };
  const AT_EIGHT = "2026-01-01T08:00:00.000Z";
  const now = Date.parse(AT_EIGHT);

  it("has one word for its state", () => {
    expect(notificationState({ abortedAt: null, progress }, now)).toBe("going");
    expect(notificationState({ abortedAt: null, approval: "waiting", progress }, now)).toBe("waiting");
    expect(notificationState({ abortedAt: null, approval: "expired", progress }, now)).toBe("stopped");
    expect(notificationState({ abortedAt: null, progress: { ...progress, percentComplete: 100 } }, now)).toBe(
      "finished",
    );
    expect(notificationState({ abortedAt: null, progress: { ...progress, expireCount: 1 } }, now)).toBe("finished");
    const failed = { ...progress, percentComplete: 100, broadcastFailedCount: 1 };
    expect(notificationState({ abortedAt: null, progress: failed }, now)).toBe("failed");
    expect(notificationState({ abortedAt: "2026-01-01T00:00:00.000Z", progress }, now)).toBe("stopped");
  });

  it("does not play in a preview", () => {
    expect(activeNotifications([{ draft: true, abortedAt: null, progress } as never], now)).toEqual([]);
  });

  it("sounds when it is to be heard, not as soon as a bell is made ready", () => {
    const bell = { draft: false, abortedAt: null, createdAt: "2026-01-01T07:59:30.000Z", soundsAt: AT_EIGHT, progress };
    const before = Date.parse(AT_EIGHT) - 1;
    expect(notificationState(bell, before)).toBe("ready");
    expect(activeNotifications([bell as never], before)).toEqual([]);
    expect(notificationState(bell, before + 1)).toBe("going");
    expect(activeNotifications([bell as never], before + 1)).toEqual([bell]);
    const slow = Date.parse(bell.createdAt) - 1;
    expect(notificationState(bell, slow)).toBe("going");
    expect(activeDurationMs(bell, before + 5_001)).toBe(5_000);
    expect(activeDurationMs({ ...bell, soundsAt: null }, before + 1)).toBe(30_000);
    expect(notificationState({ ...bell, abortedAt: "2026-01-01T07:59:59.000Z" }, before)).toBe("stopped");
  });

  it("says whom it reached once it is over, but not for what only people without devices read", () => {
    const over = { ...progress, percentComplete: 100 };
    const at = (values: Partial<Parameters<typeof messageVerdict>[0]>) =>
      messageVerdict({ abortedAt: null, recipientCount: 0, progress: over, ...values });
    expect(at({})).toBe("reachedNone");
    expect(at({ recipientCount: 3 })).toBeNull();
    expect(at({ progress })).toBeNull();
    expect(at({ approval: "refused" })).toBeNull();
    expect(at({ recipientCount: 3, progress: { ...over, ...reachOf({ failed: 399 }) } })).toBe("reachedNone");
    expect(at({ abortedAt: AT_EIGHT, progress: { ...over, ...reachOf({ failed: 1, playing: 3 }) } })).toBe(
      "reachedPartly",
    );
  });
});

describe("the ledger as CSV", () => {
  it("quotes what needs it and runs no formula", () => {
    const row = { name: 'Room "7", East', deviceIdentifier: "=cmd()", level: "failed", attempt: 3 } as DeliveryRow;
    const [head, line] = deliveryCsv([{ ...row, type: null, reason: "a\nb" }], (text) => text).split("\r\n");
    expect(head).toMatch(/^name,deviceIdentifier,type,level,reason,attempt,/);
    expect(line).toMatch(/^"Room ""7"", East",'=cmd\(\),,failed,"a\nb",3,/);
  });
});

describe("a group's definition", () => {
  const filter = { attribute: "Name", comparison: "EQUALS", value: "x" };

  it("explains errors of an expression with their position", () => {
    const draft = { ...groupDraftOf(null), filterType: "LOGICAL_EXPRESSION", filters: [filter, filter] };
    expect(expressionError({ ...draft, logicalExpression: "(1 AND 2) OR NOT 1" })).toBeNull();
    expect(expressionError({ ...draft, logicalExpression: "1 AND (2" })?.faults).toMatchObject([
      { message: expect.stringMatching(/The \( at position 7 is not closed\.$/), reason: { params: { at: 7 } } },
    ]);
    expect(expressionError({ ...draft, logicalExpression: "3" })?.faults[0]?.message).toMatch(
      /Filter numbers must be between 1 and 2; found 3 at position 1\.$/,
    );
    expect(expressionError({ ...draft, filterType: "AND", logicalExpression: "(" })).toBeNull();
  });

  it("leaves out empty lines and an expression that is not used", () => {
    const body = groupBodyOf({ ...groupDraftOf(null), name: "A", logicalExpression: "1", additionIds: [" SEP1 ", ""] });
    expect(body).toMatchObject({ logicalExpression: null, additionIds: ["SEP1"], filterType: "AND" });
  });

  it("is complete when each filter has a value", () => {
    expect(isGroupComplete({ ...groupDraftOf(null), filters: [filter] })).toBe(true);
    expect(isGroupComplete({ ...groupDraftOf(null), filters: [{ ...filter, value: "" }] })).toBe(false);
  });
});

describe("a new device", () => {
  it("becomes a zone of its name", () => {
    expect(deviceBody({ ...NEW_DEVICE, description: "Main hall!", group: " 239.1.2.3 " })).toMatchObject({
      type: "speakers",
      deviceIdentifier: "zone:Main-hall-",
      attributes: { Group: "239.1.2.3", Port: "20480", Codec: "PCMU" },
    });
  });

  it("becomes a phone in capitals", () => {
    const phone = { ...NEW_DEVICE, kind: "phone" as const, phoneName: "sep001122334455", address: "10.1.2.3" };
    expect(deviceBody(phone)).toMatchObject({ type: "phones", deviceIdentifier: "SEP001122334455" });
  });
});

describe("a form", () => {
  it("is generated from a JSON Schema", () => {
    const fields = fieldsOf({
      properties: {
        user: { type: "string", maxLength: 64, description: "Who." },
        password: { type: "string", writeOnly: true },
        id: { type: "string", readOnly: true },
        retries: { anyOf: [{ type: "integer", minimum: 1, maximum: 9 }, { type: "null" }] },
        codec: { enum: ["PCMU", "G722"] },
        on: { type: "boolean" },
        names: { type: "array", items: { type: "string" } },
        rest: { type: "object" },
      },
      required: ["user"],
    });
    expect(fields.map(({ name, kind }) => `${name}:${kind}`)).toEqual([
      "user:text",
      "password:secret",
      "retries:number",
      "codec:choice",
      "on:switch",
      "names:lines",
      "rest:json",
    ]);
    expect(fields[0]).toMatchObject({ required: true, hint: "Who.", max: 64 });
    expect(fields[2]).toMatchObject({ min: 1, max: 9 });
  });

  it("takes kind and bounds from the declaration, and hints from the page alone", () => {
    const schema = {
      properties: { name: { type: "string", maxLength: 140, description: "x" }, on: { type: "boolean" } },
    };
    expect(formFields(schema, [{ name: "on", hint: "y" }, { name: "name" }, { name: "new" }])).toEqual([
      { name: "on", kind: "switch", hint: "y" },
      { name: "name", kind: "text", max: 140 },
      { name: "new", kind: "text" },
    ]);
  });

  it("sends only changed fields, empty texts as null", () => {
    expect(changedValues({ a: "x", b: null, c: ["1"] }, { a: "", b: "", c: ["1"], d: false })).toEqual({
      a: null,
      d: false,
    });
  });

  it("takes over changes of other users, but keeps typed values", () => {
    const before = { name: "Ann", phone: null, email: "a@example.org" };
    const after = { name: "Anna", phone: "1", email: "b@example.org" };
    const values = mergedValues({ ...before, phone: "", email: "typed" }, before, after);
    expect(values).toEqual({ name: "Anna", phone: "1", email: "typed" });
    expect(changedValues(after, values)).toEqual({ email: "typed" });
  });
});

describe("words", () => {
  it("exist in every language for each activity, incident step, outcome and result", () => {
    const { type } = incidentActivities.fields;
    const wanted = [
      ...NOTIFICATION_ACTIVITY_TYPES.map((value) => `activity.${value}`),
      ...type.values.map((value) => `step.${value}`),
      ...DEVICE_OUTCOMES.map((value) => `outcome.${value}`),
      ...REACH_VERDICTS.map((value) => `verdict.${value}`),
    ];
    expect(wanted.filter((key) => !(key in en) || !(key in de))).toEqual([]);
  });

  it("fill placeholders, numbers in the manner of the language", () => {
    const text = (message: string, values: Record<string, string | number>) =>
      createTranslator("de", compileCatalogue({ save: message })).t("save", values);
    expect(text("{count, number} of {total} of {most}", { count: 1_234, total: "many", most: 5_000 })).toBe(
      "1.234 of many of 5.000",
    );
    expect(text("{subject}", { subject: "{count}" })).toBe("{count}");
  });

  it("choose the plural form of the language", () => {
    const { t } = createTranslator("en", compileCatalogue(en));
    expect([0, 1, 2].map((count) => t("table.count", { count }))).toEqual(["0 entries", "1 entry", "2 entries"]);
  });

  it("format elapsed time", () => {
    expect(elapsedText(-5)).toBe("0:00");
    expect(elapsedText(67_900)).toBe("1:07");
    expect(elapsedText(3_723_000)).toBe("1:02:03");
  });

  it("format times: near ones relative, others by date", () => {
    const now = Date.parse("2026-01-12T08:00:00.000Z");
    expect(dateFormats("en").short(now - 5 * 60_000, now)).toBe("5 minutes ago");
    expect(dateFormats("en").short(now - 26 * 3_600_000, now)).toContain("Jan 11, 2026");
  });
});
