import { describe, expect, it } from "vitest";
import { tableContentType } from "../../../../src/console/web/api/client.ts";
import type { ScenarioQuestion, ScenarioRow, TimelineEntry } from "../../../../src/console/web/api/scenario-rows.ts";
import type { LoadRunRow, UploadRow } from "../../../../src/console/web/api/upload-rows.ts";
import {
  entryLabel,
  entrySentence,
  entryTone,
  sinceText,
} from "../../../../src/console/web/features/incidents/timeline-text.ts";
import { placeName } from "../../../../src/console/web/features/places/place-name.ts";
import { launchOrder } from "../../../../src/console/web/features/scenarios/launch-order.ts";
import { withPlaceholders } from "../../../../src/console/web/features/scenarios/placeholders.ts";
import {
  answersOf,
  canStart,
  EMPTY_START,
  needsPlace,
  startBody,
  unansweredQuestions,
  variableFrom,
} from "../../../../src/console/web/features/scenarios/start-draft.ts";
import { textColorOn } from "../../../../src/console/web/features/scenarios/text-color.ts";
import {
  configWith,
  LICENCE_FILTERS,
  licenceDraft,
} from "../../../../src/console/web/features/system/licence-definition.ts";
import { runCounts, runTone } from "../../../../src/console/web/features/uploads/load-run-text.ts";
import {
  isUploadActive,
  sizeText,
  uploadPace,
  uploadTone,
} from "../../../../src/console/web/features/uploads/upload-text.ts";
import { compileCatalogue } from "../../../../src/console/web/i18n/compile-catalogue.ts";
import en from "../../../../src/console/web/i18n/en.json" with { type: "json" };
import { createTranslator } from "../../../../src/console/web/i18n/translator.ts";
import { moveItem } from "../../../../src/console/web/ui/form/move-item.ts";

const translator = createTranslator("en", compileCatalogue(en));

const question = (part: Partial<ScenarioQuestion>): ScenarioQuestion => ({
  ...{ id: "a", name: "Which door?", variable: "door", type: "option", options: ["North"], rank: 0, required: true },
  ...part,
});
const scenario = (part: Partial<ScenarioRow>): ScenarioRow =>
  ({
    ...{ id: "s", fields: [], locationEnabled: false, defaultSiteId: null, confirmationType: "none" },
    ...part,
  }) as unknown as ScenarioRow;

describe("a start", () => {
  it("asks in the order of ranks, but never the site of older clients", () => {
    const fields = [
      question({ id: "b", rank: 2 }),
      question({ id: "a", rank: 1 }),
      question({ id: "c", type: "site" }),
    ];
    const told = { ...EMPTY_START, answers: { a: " North ", b: " ", c: "x" } };
    expect(answersOf(scenario({ fields }), told)).toEqual([{ fieldId: "a", answer: "North" }]);
  });

  it("is ready once required questions, location and PIN are complete", () => {
    const row = scenario({ fields: [question({})], locationEnabled: true, confirmationType: "pin" });
    expect(canStart(row, EMPTY_START)).toBe(false);
    expect(unansweredQuestions(row, EMPTY_START)).toEqual(["Which door?"]);
    const told = { answers: { a: "North" }, place: { site: { id: "1", name: "North" } }, pin: "1234" };
    expect(canStart(row, told)).toBe(true);
    expect(canStart(row, { ...told, pin: "123" })).toBe(false);
    expect(needsPlace(scenario({ locationEnabled: true, defaultSiteId: "1" }), EMPTY_START)).toBe(false);
    expect(canStart(scenario({}), EMPTY_START)).toBe(true);
  });

  it("sends only the narrowest location, and no unrequested PIN or location", () => {
    const place = { site: { id: "1", name: "North" }, floor: { id: "3", name: "Ground" } };
    const told = { answers: {}, place, pin: "1234" };
    expect(startBody(scenario({}), told, true)).toEqual({ scenarioId: "s", drill: true, fields: [] });
    const asked = scenario({ locationEnabled: true, confirmationType: "pin" });
    expect(startBody(asked, told, false)).toEqual({
      ...{ scenarioId: "s", drill: false, fields: [] },
      ...{ location: { floor: { id: "3" } }, confirmationPin: "1234" },
    });
    expect(placeName(place)).toBe("North, Ground");
  });

  it("calls answers by the words of their question", () => {
    expect(variableFrom("Which door?", [])).toBe("which_door");
    expect(variableFrom("Which door?", ["Which_Door"])).toBe("which_door_2");
    expect(variableFrom("Größe der Straße", [])).toBe("grosse_der_strasse");
    for (const name of ["", "?", "Q1", "7 of 9", "x".repeat(80), "出口"]) {
      expect(variableFrom(name, [])).toMatch(/^[A-Za-z][A-Za-z0-9_]{2,31}$/);
    }
  });
});

describe("tiles", () => {
  it("have readable text on any colour", () => {
    expect(textColorOn("#ffffff")).toBe("#000000");
    expect(textColorOn("#000000")).toBe("#ffffff");
    expect(textColorOn("#b01d24")).toBe("#ffffff");
    expect(textColorOn("#ffcc00")).toBe("#000000");
    expect(textColorOn("red")).toBe("#000000");
  });

  it("show emergencies first, without scenarios that other systems start", () => {
    const row = (name: string, part: object) => ({ name, type: "standard" as const, emergency: false, ...part });
    const rows = [
      row("Storm", {}),
      row("Bus", {}),
      row("Fire", { emergency: true }),
      row("Robot", { type: "integration" }),
    ];
    expect(launchOrder(rows).map(({ name }) => name)).toEqual(["Fire", "Bus", "Storm"]);
    expect(moveItem(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
    expect(moveItem(["a", "b", "c"], 0, 1)).toEqual(["b", "a", "c"]);
  });
});

describe("the time line of an incident", () => {
  const entry = (part: Partial<TimelineEntry>): TimelineEntry => ({
    ...{ at: "2026-03-03T08:00:07.000Z", kind: "step", what: "note", notificationId: null, userName: null },
    ...{ count: 1, names: [], words: null, wordsSentence: null },
    ...part,
  });

  it("describes events in words, devices and people by number and name", () => {
    const devices = entry({ kind: "devices", what: "failed", count: 5, names: ["Hall", "Gym"] });
    expect([entryTone(devices), entryLabel(devices, translator), entrySentence(devices, translator)]).toEqual([
      ...["bad", "Not reached", "5 devices: Hall, Gym …"],
    ]);
    expect(entryTone(entry({ kind: "devices", what: "skipped" }))).toBe("muted");
    const note = entry({ words: "Room 214" });
    expect([entryTone(note), entryLabel(note, translator), entrySentence(note, translator)]).toEqual([
      "",
      "Note",
      "Room 214",
    ]);
    const answer = entry({ kind: "answers", what: "Safe", names: ["Anna"] });
    expect([entryLabel(answer, translator), entrySentence(answer, translator)]).toEqual(["Safe", "1 person: Anna"]);
    expect(entryTone(entry({ what: "all-clear" }))).toBe("good");
    expect(sinceText("2026-03-03T08:01:07.000Z", "2026-03-03T08:00:00.000Z")).toBe("+1:07");
  });
});

describe("uploads and loads", () => {
  const upload = { startedAt: "2026-03-03T08:00:00.000Z", percentage: 25, lineCount: 900, errorCount: 100 };

  it("know their pace once there is any", () => {
    const now = Date.parse("2026-03-03T08:00:10.000Z");
    expect(uploadPace(upload, now)).toEqual({ perSecond: 100, seconds: 30 });
    expect(uploadPace({ ...upload, percentage: 0 }, now)).toBeNull();
    expect(uploadPace({ ...upload, startedAt: null }, now)).toBeNull();
  });

  it("are active from their file to their end", () => {
    expect(isUploadActive({ status: "PENDING", fileId: null })).toBe(false);
    expect(isUploadActive({ status: "PENDING", fileId: "x" })).toBe(true);
    expect(isUploadActive({ status: "COMPLETE", fileId: "x" })).toBe(false);
    const tones = (["success", "COMPLETE", "ERROR", "RUNNING"] as UploadRow["status"][]).map((status) =>
      uploadTone({ status }),
    );
    expect(tones).toEqual(["good", "good", "bad", ""]);
    expect([sizeText(0), sizeText(1_200), sizeText(3_400_000)]).toEqual(["0 kB", "2 kB", "3.4 MB"]);
  });

  it("take the kind of a table from its name", () => {
    expect(["a.TSV", "b.csv", "c.zip", "d"].map(tableContentType)).toEqual([
      ...["text/tab-separated-values", "text/csv", "application/zip", "text/tab-separated-values"],
    ]);
  });

  it("show the results of a load, and nothing for a stopped one", () => {
    const run = { state: "complete", peopleRead: 8, usersCreated: 0, usersChanged: 2, usersRemoved: 1 } as LoadRunRow;
    expect(runCounts(run)).toEqual([
      { key: "load.people-read", n: 8 },
      { key: "load.users-changed", n: 2 },
      { key: "load.users-removed", n: 1 },
    ]);
    expect(runCounts({ ...run, state: "stopped" })).toEqual([{ key: "load.people-read", n: 8 }]);
    expect(runTone({ state: "stopped" })).toBe("warn");
  });
});

describe("licence filters", () => {
  const [phones] = LICENCE_FILTERS;
  const filter = { attribute: "Name", comparison: "EQUALS", value: "x" };

  it("take every device where nothing is said, and leave other settings alone", () => {
    const draft = licenceDraft({ timeZone: "UTC" }, phones);
    expect(draft?.filterType).toBe("ACCEPT");
    expect(configWith({ timeZone: "UTC", phoneFilter: { filters: [filter] } }, phones, draft)).toEqual({
      timeZone: "UTC",
    });
  });

  it("keep their rule, and those that no editor shows", () => {
    const config = { phoneFilter: { filterType: "AND", filters: [filter] }, speakerFilter: { filters: [] } };
    const draft = licenceDraft(config, phones);
    expect(configWith(config, phones, draft)).toEqual(config);
    const nested = { phoneFilter: { filters: [[filter, filter]] } };
    expect(licenceDraft(nested, phones)).toBeNull();
    expect(configWith(nested, phones, null)).toEqual(nested);
    const none = draft && configWith(config, phones, { ...draft, filterType: "REJECT" });
    expect(none).toMatchObject({ phoneFilter: { filterType: "REJECT", filters: [] } });
  });
});

it("shows open placeholders of a message in brackets", () => {
  const questions = [{ variable: "which_door", name: "Which door?" }];
  expect(withPlaceholders("Go to {{ which_door }} of {{main_hall}}", questions)).toBe(
    "Go to [Which door?] of [main hall]",
  );
  expect(withPlaceholders("Lockdown: North", questions)).toBe("Lockdown: North");
});
