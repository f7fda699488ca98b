import { describe, expect, it } from "vitest";
import { camelCase, compileDecoder, kebabCase } from "../../../src/schema/decoder.ts";
import {
  boolean,
  computed,
  file,
  integer,
  internal,
  json,
  list,
  many,
  number,
  object,
  text,
  timestamp,
} from "../../../src/schema/field.ts";

const decoder = compileDecoder({
  fullName: text("Name."),
  age: integer("Age."),
  weight: number("Weight."),
  isOpen: boolean("Open."),
  bornAt: timestamp("Born."),
  tags: list("Tags.", text("Tag.")),
  counts: list("Counts.", integer("Count.")),
  friendIds: many("Friends.", "users"),
  place: object("Place.", {
    roomName: text("Room."),
    floor: integer("Floor."),
    deep: object("Deep.", { level: integer("L.") }),
  }),
  notes: json("Notes."),
  values: json("Values.", { fromText: true }),
  rings: json("Rings.", {
    items: { at: integer("At."), isLate: boolean("Late."), groupIds: many("Groups.", "groups"), label: text("Label.") },
  }),
  photo: file("Photo.", ["image/png"]),
  syncId: text("Sync.", { readOnly: true }),
  marker: internal("Marker.", "text"),
  label: computed("Label.", "text"),
});

describe("JSON bodies", () => {
  it("accepts both spellings, prefers camelCase and drops unknown fields", () => {
    expect(
      decoder.json({
        id: "1",
        "full-name": "Ann",
        "is-open": true,
        isOpen: false,
        "friend-ids": [],
        syncId: "x",
        marker: "x",
        label: "x",
        other: 1,
      }),
    ).toEqual({ id: "1", fullName: "Ann", isOpen: false, friendIds: [] });
  });
  it("keeps types and free-form JSON unchanged", () => {
    const input = { age: "12", tags: "a", notes: { "kebab-key": [1] }, place: { "room-name": 5, other: 1 } };
    expect(decoder.json(input)).toEqual({ ...input, place: { roomName: 5 } });
  });
  it("treats the size of a file as no change", () => {
    expect(decoder.json({ photo: 1_234 })).toEqual({});
    expect(decoder.json({ photo: null })).toEqual({ photo: null });
    expect(decoder.json({ photo: "x" })).toEqual({ photo: "x" });
  });
  it("reads objects from JSON text, but not free-form values", () => {
    const read = decoder.json({
      place: '{"floor":2,"other":1}',
      values: '{"a":1}',
      rings: ['{"at":1}', { at: "2" }],
      notes: '{"a":1}',
    });
    expect(read).toEqual({ place: { floor: 2 }, values: { a: 1 }, rings: [{ at: 1 }, { at: "2" }], notes: '{"a":1}' });
    expect(decoder.json({ rings: '[{"at":1}]', values: null })).toEqual({ rings: [{ at: 1 }], values: null });
    expect(() => decoder.json({ rings: ["{"] })).toThrow(
      expect.objectContaining({ faults: [expect.objectContaining({ field: "rings[0]" })] }),
    );
  });
  it.each([[[]], [null], ["text"], [1]])("refuses %j", (body) => {
    expect(() => decoder.json(body)).toThrow(expect.objectContaining({ type: "invalid-value" }));
  });
});

describe("forms", () => {
  it.each([
    ["age", "12", 12],
    ["age", "-3", -3],
    ["age", "", null],
    ["age", "1.5", "1.5"],
    ["age", "0x10", "0x10"],
    ["age", "1e3", "1e3"],
    ["weight", "1.5", 1.5],
    ["weight", "Infinity", "Infinity"],
    ["isOpen", "true", true],
    ["isOpen", "yes", false],
    ["isOpen", "", null],
    ["fullName", "", null],
    ["fullName", "12", "12"],
    ["bornAt", "", null],
    ["tags", "a", ["a"]],
    ["tags", "", []],
    ["tags", [""], []],
    ["tags", ["a", "b"], ["a", "b"]],
    ["counts", ["1", "x"], [1, "x"]],
    ["friendIds", "a", ["a"]],
    ["friendIds", "", []],
    ["place", { "room-name": "R", floor: "2", deep: { level: "3" } }, { roomName: "R", floor: 2, deep: { level: 3 } }],
    ["place", '{"floor": 2}', { floor: 2 }],
    ["place", "", null],
    ["notes", '{"a":[1]}', { a: [1] }],
    ["notes", "", null],
    ["values", '{"a":1}', { a: 1 }],
    [
      "rings",
      [{ at: "0", "is-late": "true", "group-ids": "g", label: "7", id: "i", other: "1" }],
      [{ at: 0, isLate: true, groupIds: ["g"], label: "7", id: "i" }],
    ],
    ["rings", ['{"at":0}'], [{ at: 0 }]],
    ["rings", '[{"at":0}]', [{ at: 0 }]],
    ["rings", [""], []],
    ["rings", "", null],
    ["rings", { at: "0" }, { at: "0" }],
    ["notes", { a: "1" }, { a: "1" }],
    ["photo", "", null],
  ])("%s=%j", (name, given, value) => {
    expect(decoder.form({ [name]: given })).toEqual({ [name]: value });
  });
  it("names a field with invalid JSON", () => {
    expect(() => decoder.form({ notes: "{" })).toThrow(
      expect.objectContaining({ faults: [expect.objectContaining({ field: "notes", type: "invalid-value" })] }),
    );
  });
});

describe("spellings", () => {
  it.each([
    ["perUserThrottlingInSecs", "per-user-throttling-in-secs"],
    ["messageTemplateId", "message-template-id"],
    ["name", "name"],
  ])("%s is %s", (camel, kebab) => {
    expect(kebabCase(camel)).toBe(kebab);
    expect(camelCase(kebab)).toBe(camel);
  });
});
