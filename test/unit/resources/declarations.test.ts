import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { CUSTOMIZABLE_FIELDS } from "../../../src/resources/messages/template-customization.ts";
import { createCatalogue, methodsOf, pathParams } from "../../../src/schema/catalogue.ts";
import type { Field, OptionField } from "../../../src/schema/field.ts";
import type { AnyResource } from "../../../src/schema/resource.ts";
import { EXPECTED_ENUMERATIONS, EXPECTED_FIELDS, EXPECTED_PATHS, EXPECTED_ROW_LIMITS } from "./api-reference-facts.ts";

const folder = resolve(import.meta.dirname, "../../../src/resources");
const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
const modules: { default?: AnyResource }[] = await Promise.all(files.map((name) => import(join(folder, name))));
const catalogue = createCatalogue(modules.flatMap((module) => (module.default ? [module.default] : [])));

/** One line per place where what a declaration names does not exist, or where two fields would share a name. */
function looseEnds(resource: AnyResource): string[] {
  const has = (name: string | undefined) => name === undefined || name in resource.fields;
  const ends: string[] = [];
  if (!has(resource.limit?.per)) ends.push("limit.per");
  if (!has(resource.limit?.until)) ends.push("limit.until");
  for (const name of resource.clone?.omit ?? []) if (!has(name)) ends.push(`clone.omit ${name}`);
  for (const name of resource.clone?.children ?? []) if (!catalogue.has(name)) ends.push(`clone.children ${name}`);
  for (const path of resource.paths) {
    if (path.itemBy && resource.fields[path.itemBy]?.kind !== "ref") ends.push(`itemBy ${path.itemBy}`);
    if (!path.through) continue;
    const fields = catalogue.byName(path.through.resource).fields;
    for (const name of [path.through.via, ...pathParams(path)]) {
      if (fields[name]?.kind !== "ref") ends.push(`through ${name}`);
    }
  }
  const embeds = Object.values(resource.fields).flatMap((spec) => ("embed" in spec && spec.embed ? [spec.embed] : []));
  const base = [
    "id",
    "createdAt",
    "updatedAt",
    "permissions",
    "pk",
    ...(resource.scope === "domain" ? ["domainId"] : []),
  ];
  for (const name of [...embeds, ...base]) {
    if (name in resource.fields) ends.push(`name ${name}`);
  }
  if (new Set(embeds).size < embeds.length) ends.push("embed twice");
  return ends.map((end) => `${resource.name}: ${end}`);
}

/** Fields with a rule that contradicts itself, or without a sentence to describe them. */
function poorFields(resource: AnyResource): string[] {
  return Object.entries(resource.fields)
    .filter(([, spec]) => !/[.]$/.test(spec.doc) || isContradiction(spec))
    .map(([name]) => `${resource.name}.${name}`);
}

function isContradiction(spec: Field): boolean {
  if (spec.kind === "option" && spec.default !== undefined && !spec.values.includes(spec.default)) return true;
  if ((spec.kind === "integer" || spec.kind === "number") && spec.min > spec.max) return true;
  return Boolean(spec.required && spec.readOnly);
}

describe("resource declarations", () => {
  it("are consistent and refer to existing names", () => {
    expect(catalogue.all.flatMap(looseEnds)).toEqual([]);
  });

  it("document every field without contradictions", () => {
    expect(catalogue.all.flatMap(poorFields)).toEqual([]);
  });

  it("refer only to known undeclared families", () => {
    const families = new Set(catalogue.undeclaredReferences.map((line) => line.split(" -> ")[1]));
    const later = ["areas-of-interest", "collaboration-groups", "incident-plans", "incidents", "load-definitions"];
    later.push("notification-profiles", "scenario-notifications", "scenarios", "tts-voices");
    expect(later).toEqual(expect.arrayContaining([...families]));
  });

  it("have the paths and operations of the API contract", () => {
    const letters = { get: "g", post: "p", put: "u", delete: "d" };
    const served = catalogue.all.flatMap((resource) =>
      resource.paths.map((path) => [path.at, [...new Set(methodsOf(path).map((method) => letters[method]))].sort()]),
    );
    const expected = Object.entries(EXPECTED_PATHS).map(([at, methods]) => [at, [...methods].sort()]);
    expect(Object.fromEntries(served)).toMatchObject(Object.fromEntries(expected));
  });

  it.each(Object.entries(EXPECTED_ROW_LIMITS))("limit the rows of %s", (name, limit) => {
    expect(catalogue.byName(name).limit).toEqual(limit);
  });

  const facts = Object.entries(EXPECTED_FIELDS).flatMap(([name, fields]) =>
    Object.entries(fields).map(([field, fact]) => ({ name, field, fact })),
  );
  it.each(facts)("declare $name.$field as in the API contract", ({ name, field, fact }) => {
    const { values, ...rest } = fact as { values?: string[] };
    const spec = catalogue.byName(name).fields[field];
    expect(spec).toMatchObject(rest);
    if (values) expect([...(spec as OptionField).values].sort()).toEqual([...values].sort());
  });

  it.each(EXPECTED_ENUMERATIONS)("contain all values of $resource.$field", ({ resource, field, count, some }) => {
    const { values } = catalogue.byName(resource).fields[field] as OptionField;
    expect(new Set(values).size).toBe(count);
    expect(values).toHaveLength(count);
    expect(values).toEqual(expect.arrayContaining(some));
  });

  it("give a template both flags for each of the fifteen customizable fields", () => {
    const { fields } = catalogue.byName("message-templates");
    const flags = Object.keys(fields).filter((name) => /(Customizable|Display)$/.test(name));
    expect(CUSTOMIZABLE_FIELDS).toHaveLength(15);
    // One more for the metadata, and one for what is called off.
    expect(flags).toHaveLength(32);
    for (const name of CUSTOMIZABLE_FIELDS) expect(fields).toHaveProperty(name);
  });

  it("name campaign members as in the API contract", () => {
    expect(catalogue.byName("distribution-lists").fields.campaign).toMatchObject({
      kind: "object",
      fields: {
        welcomeMessage: { max: 10_000 },
        inactiveMessage: { max: 10_000 },
        subscribeTag: { max: 30 },
        url: { readOnly: true },
        defaultNotificationDays: { kind: "integer" },
        enrollmentEndDate: { kind: "timestamp" },
      },
    });
  });
});
