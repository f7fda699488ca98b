import { expect, it } from "vitest";
import * as field from "../../../src/schema/field.ts";
import { jsonSchemaOf } from "../../../src/schema/json-schema.ts";

it("describes every field type and omits internal fields", () => {
  const schema = jsonSchemaOf({
    name: field.text("A name.", { required: true, min: 1, max: 9 }),
    mail: field.text("An address.", { format: "email" }),
    link: field.text("A link.", { format: "url" }),
    count: field.integer("A number.", { min: 1, max: 5, default: 2, unit: "s" }),
    level: field.number("A level.", { min: 0, max: 1 }),
    on: field.boolean("A switch.", { default: false, createOnly: true }),
    at: field.timestamp("A moment.", { readOnly: true }),
    day: field.date("A day."),
    kind: field.option("A choice.", ["a", "b"]),
    key: field.uuid("A key."),
    userId: field.ref("A user.", "users"),
    listIds: field.many("Lists.", "distribution-lists", { maxItems: 3 }),
    words: field.list("Words.", field.text("A word.", { max: 4 }), { minItems: 1, maxItems: 2 }),
    place: field.object("A place.", { x: field.number("East.", { required: true }) }),
    any: field.json("Anything."),
    picture: field.file("A picture.", ["image/png"], { maxBytes: 10 }),
    pin: field.secret("A secret.", { max: 6 }),
    own: field.internal("Our own.", "text"),
    total: field.computed("A sum.", "integer"),
    label: field.computed("A text.", "text"),
    seen: field.computed("When.", "timestamp"),
  });
  expect(schema.required).toEqual(["name"]);
  expect(schema.properties).toEqual({
    name: { type: "string", minLength: 1, maxLength: 9, description: "A name." },
    mail: { type: "string", maxLength: 255, format: "email", description: "An address." },
    link: { type: "string", maxLength: 255, format: "uri", description: "A link." },
    count: { type: "integer", minimum: 1, maximum: 5, default: 2, "x-unit": "s", description: "A number." },
    level: { type: "number", minimum: 0, maximum: 1, description: "A level." },
    on: { type: "boolean", default: false, "x-create-only": true, description: "A switch." },
    at: { type: "string", format: "date-time", readOnly: true, description: "A moment." },
    day: { type: "string", format: "date", description: "A day." },
    kind: { type: "string", enum: ["a", "b"], description: "A choice." },
    key: { type: "string", format: "uuid", description: "A key." },
    userId: { type: "string", format: "uuid", "x-ref": "users", description: "A user." },
    listIds: {
      type: "array",
      items: { type: "string", format: "uuid" },
      uniqueItems: true,
      maxItems: 3,
      "x-ref": "distribution-lists",
      description: "Lists.",
    },
    words: {
      type: "array",
      items: { type: "string", maxLength: 4, description: "A word." },
      minItems: 1,
      maxItems: 2,
      description: "Words.",
    },
    place: {
      type: "object",
      properties: { x: { type: "number", minimum: -1e15, maximum: 1e15, description: "East." } },
      required: ["x"],
      description: "A place.",
    },
    any: { description: "Anything." },
    picture: { type: "integer", "x-file": { types: ["image/png"], maxBytes: 10 }, description: "A picture." },
    pin: { type: "string", maxLength: 6, writeOnly: true, description: "A secret." },
    total: { type: "integer", readOnly: true, description: "A sum." },
    label: { type: "string", readOnly: true, description: "A text." },
    seen: { type: "string", format: "date-time", readOnly: true, description: "When." },
  });
});
