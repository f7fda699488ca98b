import { describe, expect, it } from "vitest";
import {
  boolean,
  date,
  type Field,
  integer,
  json,
  list,
  many,
  number,
  object,
  option,
  ref,
  secret,
  text,
  timestamp,
  uuid,
} from "../../../src/schema/field.ts";
import { compileValidator } from "../../../src/schema/validator.ts";

const ID = "0190163d-8694-739b-aea5-966c26f8ad91";

/** The inner value of one field, or the fault's type. */
const check = (field: Field, value: unknown): unknown => {
  const { values, faults } = compileValidator({ it: field }).validate({ it: value }, "create");
  return faults[0]?.type ?? values.it;
};

describe("valid values", () => {
  it.each<[string, Field, unknown, unknown]>([
    ["text", text(""), "Grüße 🔔", "Grüße 🔔"],
    ["140 emoji count as 140 characters", text("", { max: 140 }), "🔔".repeat(140), "🔔".repeat(140)],
    ["integer", integer(""), 0, 0],
    ["number", number(""), -0.5, -0.5],
    ["boolean", boolean(""), false, false],
    ["boolean as the word true", boolean(""), "true", true],
    ["boolean as any other word", boolean(""), "yes", false],
    ["timestamp with offset", timestamp(""), "2026-03-29T02:30:00.5+02:00", Date.parse("2026-03-29T00:30:00.500Z")],
    ["date", date(""), "2028-02-29", "2028-02-29"],
    ["option", option("", ["a", "b"]), "b", "b"],
    ["uuid of any version", uuid(""), "55CA36DE-4b3c-11ed-aeff-17a043a08a03", "55ca36de-4b3c-11ed-aeff-17a043a08a03"],
    ["ids without repeats", many("", "users"), [ID, ID.toUpperCase()], [ID]],
    ["list", list("", integer("")), [1, 2], [1, 2]],
    ["object without unknown members", object("", { a: text("") }), { a: "x", b: 1 }, { a: "x" }],
    ["json", json(""), { any: [1, null] }, { any: [1, null] }],
    ["null clears", text(""), null, null],
    ["null clears a list of ids", many("", "users"), null, []],
    ["defaults", integer("", { default: 7 }), undefined, 7],
  ])("%s", (_name, field, given, inner) => expect(check(field, given)).toEqual(inner));
});

describe("invalid values", () => {
  it.each<[string, Field, unknown]>([
    ["a text that is too long", text("", { max: 3 }), "abcd"],
    ["141 emoji", text("", { max: 140 }), "🔔".repeat(141)],
    ["a huge text", text("", { max: 140 }), "x".repeat(10_000_000)],
    ["NUL", text(""), "a\0b"],
    ["a lone surrogate", text(""), "a\ud800"],
    ["a number as text", text(""), 5],
    ["a text as integer", integer(""), "5"],
    ["a fraction", integer(""), 1.5],
    ["1e308", integer(""), 1e308],
    ["2^53 + 1", integer("", { max: Number.MAX_SAFE_INTEGER }), 2 ** 53 + 1],
    ["NaN", number(""), Number.NaN],
    ["a number as boolean", boolean(""), 1],
    ["an unknown option", option("", ["a"]), "A"],
    ["a time without zone", timestamp(""), "2026-03-29T02:30:00"],
    ["30 February", timestamp(""), "2026-02-30T00:00:00Z"],
    ["a day that does not exist", date(""), "2026-02-30"],
    ["day zero", date(""), "0000-00-00"],
    ["another day format", date(""), "1/2/2026"],
    ["an id that is none", ref("", "users"), "42"],
    ["an id in an array", ref("", "users"), [ID]],
    ["too many items", list("", integer(""), { maxItems: 2 }), [1, 2, 3]],
    ["an object as list", list("", integer("")), { 0: 1 }],
    ["a wrong member", object("", { a: integer("") }), { a: "x" }],
    ["json that is too large", json("", { maxBytes: 10 }), "x".repeat(20)],
    ["a mail address without host", text("", { format: "email" }), "a@"],
    ["a script as web address", text("", { format: "url" }), "javascript:alert(1)"],
    ["a web address with a user", text("", { format: "url" }), "http://a@b"],
    ["a colour word", text("", { format: "color" }), "red"],
    ["a secret that is too long", secret("", { max: 3 }), "1234"],
  ])("%s", (_name, field, given) => expect(check(field, given)).toBe("invalid-value"));
});

describe("presence", () => {
  const checker = compileValidator({
    name: text("", { required: true }),
    fixed: text("", { createOnly: true }),
    kept: text("", { readOnly: true }),
  });

  it("requires required fields on creation and never clears them", () => {
    expect(checker.validate({}, "create").faults).toEqual([
      { field: "name", type: "required", message: "Field name is required." },
    ]);
    expect(checker.validate({ name: "" }, "create").faults[0]?.type).toBe("required");
    expect(checker.validate({ name: null }, "update").faults[0]?.type).toBe("required");
    expect(checker.validate({}, "update")).toEqual({ values: {}, faults: [] });
  });

  it("ignores read-only fields, and create-only ones on update", () => {
    expect(checker.validate({ name: "a", fixed: "b", kept: "c" }, "create").values).toEqual({ name: "a", fixed: "b" });
    expect(checker.validate({ name: "a", fixed: "b", kept: "c" }, "update").values).toEqual({ name: "a" });
  });

  it("ignores inherited members", () => {
    expect(checker.validate(Object.create({ name: "a" }), "create").faults[0]?.type).toBe("required");
  });
});

describe("error messages", () => {
  it.each<[string, Field, unknown]>([
    ["it is not valid. Must be one of a, b.", option("", ["a", "b"]), "c"],
    ["it is not valid. Must be an integer.", integer(""), 1.5],
    ["it is not valid. Must be a number.", integer(""), "1"],
    ["it is not valid. Must be at most 9.", integer("", { max: 9 }), 10],
    ["it is not valid. Must be at least 3.", integer("", { min: 3 }), 2],
    ["it is not valid. Must be a string.", text(""), 5],
    ["it is not valid. Must have at most 2 characters.", text("", { max: 2 }), "abc"],
    ["it is not valid. Must not contain :", text("", { without: ":" }), "a:b"],
    ["it is not valid. Must be an email address such as name@example.org.", text("", { format: "email" }), "admin"],
    ["it is not valid. Must be a list.", many("", "users"), ID],
    ["it[0] is not valid. Must be a UUID.", many("", "users"), ["x"]],
    ["it is not valid. Must have at most 1 elements.", list("", text(""), { maxItems: 1 }), ["a", "b"]],
  ])("Field %s", (words, field, value) => {
    const { faults } = compileValidator({ it: field }).validate({ it: value }, "create");
    expect(faults[0]?.message).toBe(`Field ${words}`);
  });
});
