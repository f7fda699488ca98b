import { describe, expect, it } from "vitest";
import type { ExtensionRow } from "../../../../src/console/web/api/rows.ts";
import { parseEmailAddresses } from "../../../../src/console/web/features/people/email-addresses.ts";
import {
  pluginStateText,
  pluginStatusText,
  pluginTone,
} from "../../../../src/console/web/features/plugins/plugin-text.ts";
import { auditDiff, valueText } from "../../../../src/console/web/features/security/audit-diff.ts";
import {
  permissionFor,
  permissionKey,
  permissionText,
} from "../../../../src/console/web/features/security/permission-text.ts";
import { compileCatalogue } from "../../../../src/console/web/i18n/compile-catalogue.ts";
import en from "../../../../src/console/web/i18n/en.json" with { type: "json" };
import { createTranslator } from "../../../../src/console/web/i18n/translator.ts";
import {
  endOfDay,
  fromDateTimeInput,
  lastDayOf,
  startOfDay,
  toDateTimeInput,
} from "../../../../src/console/web/ui/local-time.ts";

const translator = createTranslator("en", compileCatalogue(en));

const THINGS = {
  users: { path: "/users", methods: ["get", "post", "put", "delete"] },
  "user-devices": { path: "/users/{userId}/devices", methods: ["get", "post", "put", "delete"] },
  "odd-things": { path: "/odd-things", methods: ["get"] },
};
const ID = "01a1ff94-585e-71dd-95b4-807707d03648";

describe("the name of a permission", () => {
  it.each([
    ["get", "/users/*", "See people"],
    ["post", "/users", "Add people"],
    ["post", "/users/*", "Add people"],
    ["put", "/users/*/devices/*", "Change devices of people"],
    ["delete", `/users/${ID}`, "Remove people (only 01a1ff94…)"],
    ["get", "/odd-things/*", "See odd things"],
    ["post", "/notifications", "Send messages live"],
    ["post", "/users/*/clone", "Copy people"],
    ["get", "/nowhere/*/at-all", "get /nowhere/*/at-all"],
  ])("%s %s", (verb, spec, sentence) => {
    expect(permissionText({ verb, spec }, THINGS, translator)).toBe(sentence);
  });

  it("consists of a verb and an object, and accepts every spelling", () => {
    expect(permissionFor("get", "/users/{userId}/devices")).toEqual({ verb: "get", spec: "/users/*/devices/*" });
    expect(permissionFor("post", "/users")).toEqual({ verb: "post", spec: "/users" });
    expect(permissionKey({ verb: "post", spec: "/users/*" })).toBe(permissionKey({ verb: "post", spec: "/users" }));
    expect(permissionKey({ verb: "get", spec: "/users/*" })).not.toBe(permissionKey({ verb: "get", spec: "/users" }));
  });
});

describe("a plugin's state in words", () => {
  type Status = NonNullable<ExtensionRow["status"]>;
  const row = (state: Status["state"], more: Partial<Status> = {}) => ({
    disabled: false,
    status: {
      ...{ state, health: "ok" as const, reason: null, reasonSentence: null, failures: 0, nextTryAt: null },
      ...more,
    },
  });

  it("says why it failed, when it is tried again and how often it may fail", () => {
    const failed = row("restarting", { reason: "it threw: x", failures: 3, nextTryAt: "2026-01-01T00:00:04.500Z" });
    const now = Date.parse("2026-01-01T00:00:00Z");
    expect(pluginStatusText(failed, now, translator)).toBe(
      "Failed: it threw: x. Next attempt in 5 s (failure 3 of 5).",
    );
    expect(pluginStatusText(failed, now + 60_000, translator)).toContain("in 0 s");
  });

  it.each<[Status["state"], Partial<Status>, string, string]>([
    ["running", {}, "", "good"],
    ["running", { health: "degraded", reason: "two phones are silent" }, "two phones are silent", "warn"],
    ["stopped", { health: "down", reason: "it threw: x" }, "Restart it manually", "bad"],
    ["disabled", { health: "down", reason: "Field config.host is required." }, "Enabled, but cannot run", ""],
    ["absent", { health: "down" }, "Not installed on this appliance", "bad"],
  ])("%s %j", (state, more, sentence, tone) => {
    expect(pluginStatusText(row(state, more), 0, translator)).toContain(sentence);
    expect(pluginTone(row(state, more))).toBe(tone);
  });

  it("names trouble before it names running", () => {
    expect(pluginStateText(row("running", { health: "degraded" }))).toBe("degraded");
    expect(pluginStateText(row("running", { health: "unconfigured" }))).toBe("unconfigured");
    expect(pluginTone(row("running", { health: "unconfigured" }))).toBe("");
    expect(pluginStateText({ status: null })).toBe("absent");
  });
});

describe("the changes of an audit entry", () => {
  it("lists changed fields without internal ones", () => {
    const before = { id: "1", name: "Choir", updatedAt: "a", isShared: false, note: null };
    const after = { id: "1", name: "Big choir", updatedAt: "b", isShared: false, note: "", tags: ["x"] };
    expect(auditDiff(before, after)).toEqual([
      { field: "name", before: "Choir", after: "Big choir" },
      { field: "tags", before: undefined, after: ["x"] },
    ]);
    expect(auditDiff(null, { name: "Choir" })).toEqual([{ field: "name", before: undefined, after: "Choir" }]);
    expect(auditDiff({ name: "Choir" }, null)).toEqual([{ field: "name", before: "Choir", after: undefined }]);
    expect(auditDiff(null, null)).toEqual([]);
  });

  it("formats values as text and times in local form", () => {
    const moment = (at: number) => `at ${at}`;
    expect(["x", 1, false, null, ["a"]].map((value) => valueText(value, moment))).toEqual([
      "x",
      "1",
      "false",
      "",
      '["a"]',
    ]);
    expect(valueText("1970-01-01T00:00:01.000Z", moment)).toBe("at 1000");
  });
});

describe("moments in fields", () => {
  it("go to local text and back", () => {
    const iso = new Date(2026, 4, 31, 8, 30).toISOString();
    expect(toDateTimeInput(iso)).toBe("2026-05-31T08:30");
    expect(fromDateTimeInput("2026-05-31T08:30")).toBe(iso);
    expect([toDateTimeInput(null), fromDateTimeInput(""), fromDateTimeInput("nonsense")]).toEqual(["", null, null]);
  });

  it("hold a last day that is over with its night", () => {
    const end = endOfDay("2026-05-31");
    expect(end).toBe(new Date(2026, 5, 1).toISOString());
    expect(lastDayOf(end)).toBe("2026-05-31");
    expect(startOfDay("2026-05-31")).toBe(new Date(2026, 4, 31).toISOString());
    expect([endOfDay(""), startOfDay("x"), lastDayOf(null)]).toEqual([null, null, ""]);
  });
});

describe("pasted addresses", () => {
  it("are found with any separator, without duplicates", () => {
    expect(parseEmailAddresses('Anna <anna@example.org>; "ben@example.org",\tanna@example.org\nno address')).toEqual([
      ...["anna@example.org", "ben@example.org"],
    ]);
  });
});
