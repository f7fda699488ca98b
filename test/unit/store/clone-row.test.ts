import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import {
  boolean,
  file,
  internal,
  json,
  list,
  many,
  object,
  ref,
  secret,
  text,
  timestamp,
} from "../../../src/schema/field.ts";
import { defineResource, type RowOf } from "../../../src/schema/resource.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, ResourceHooks, Store } from "../../../src/store/store.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody } from "./store-fixture.ts";

const domains = defineResource({
  name: "domains",
  doc: "Domains.",
  paths: [{ at: "domains" }],
  idParam: "domainId",
  scope: "organisation",
  replicate: "local",
  fields: { name: text("Name.", { required: true }) },
});
const plans = defineResource({
  name: "plans",
  doc: "Plans.",
  paths: [{ at: "plans" }],
  idParam: "planId",
  scope: "domain",
  replicate: "local",
  limit: { most: 12 },
  clone: { children: ["steps"], omit: ["loadedBy"] },
  fields: {
    name: text("Name.", { required: true, max: 30, unique: true }),
    since: timestamp("Since."),
    open: boolean("Open.", { default: true }),
    tags: list("Tags.", text("Tag.", { max: 5 })),
    campaign: object("Campaign.", { until: timestamp("Until."), url: text("Url.", { readOnly: true }) }),
    notes: json("Notes."),
    picture: file("Picture.", ["image/png"]),
    pin: secret("Pin.", { max: 8 }),
    loadedBy: text("Loaded by."),
    madeBy: text("Made by.", { readOnly: true }),
    marker: internal("Marker.", "text", { unique: true }),
    friendIds: many("Friends.", "plans"),
    nextId: ref("Next.", "plans"),
  },
});
const steps = defineResource({
  name: "steps",
  doc: "Steps.",
  paths: [{ at: "plans/{planId}/steps" }],
  idParam: "stepId",
  scope: "parent",
  replicate: "local",
  limit: { most: 3, per: "planId" },
  fields: {
    planId: ref("Plan.", "plans", { required: true, createOnly: true, onDelete: "cascade" }),
    label: text("Label.", { required: true }),
    friendIds: many("Friends.", "plans"),
  },
});

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let store: Store;
afterEach(() => store.close());

function fresh(hooks: Record<string, ResourceHooks> = {}): Store {
  const fail = (error: unknown): never => {
    throw error;
  };
  store = openStore({
    dataDir: makeTempDir(),
    catalogue: createCatalogue([domains, plans, steps]),
    hooks,
    clock: systemClock,
    events: createEvents(fail),
    log: silentLog,
    onFatal: fail,
  });
  return store;
}

const plan = (input: object) => store.create(plans, input, everybody);

describe("clone", () => {
  it("copies every writable field and resets read-only ones", async () => {
    fresh();
    const domain = await store.create(domains, { name: "Root" }, everybody);
    const friend = await plan({ name: "Friend" });
    async function* bytes() {
      yield PNG;
    }
    const picture = await store.files.put(bytes(), { fileName: "a.png", maxBytes: 1_000, types: ["image/png"] });
    const given = {
      name: "A",
      since: "2026-01-01T00:00:00.000Z",
      open: false,
      tags: ["x", "y"],
      campaign: { until: "2027-01-01T00:00:00.000Z", url: "https://example.org/a" },
      notes: { deep: [1, { two: null }] },
      picture,
      pin: "1234",
      loadedBy: "loader",
      friendIds: [friend.id],
      nextId: friend.id,
    };
    const kept = { madeBy: "me", marker: "one", domainId: domain.id };
    const { id } = await store.create(plans, given, everybody, kept);
    const source = store.get(plans, id) as RowOf<typeof plans>;
    const copy = await store.clone(plans, source.id, everybody);
    expect(copy).toMatchObject({
      name: "A (Copy)",
      since: source.since,
      open: false,
      tags: ["x", "y"],
      campaign: { until: Date.parse("2027-01-01T00:00:00Z") },
      notes: given.notes,
      picture: source.picture,
      friendIds: [friend.id],
      nextId: friend.id,
      domainId: domain.id,
      loadedBy: null,
      madeBy: null,
      marker: null,
    });
    expect(copy.id).not.toBe(source.id);
    expect(copy.campaign).not.toHaveProperty("url");
    expect(store.secrets.open(copy.pin as string)).toBe("1234");
    expect(store.get(plans, copy.id)).toEqual(copy);
    expect(store.get(plans, source.id)).toEqual(source);
  });

  it("numbers further copies, shortens long names and escapes % and _", async () => {
    fresh();
    const names = async (id: string, times: number) => {
      const made: string[] = [];
      for (let at = 0; at < times; at++) made.push((await store.clone(plans, id, everybody)).name);
      return made;
    };
    await plan({ name: "a (COPY 2)" });
    expect(await names((await plan({ name: "A" })).id, 3)).toEqual(["A (Copy)", "A (Copy 3)", "A (Copy 4)"]);
    const long = await plan({ name: "y".repeat(30) });
    expect(await names(long.id, 2)).toEqual([`${"y".repeat(23)} (Copy)`, `${"y".repeat(21)} (Copy 2)`]);
    await plan({ name: "xx% (Copy)" });
    expect(await names((await plan({ name: "_%" })).id, 1)).toEqual(["_% (Copy)"]);
  });

  it("copies the declared children in order, in one transaction", async () => {
    fresh();
    const source = await plan({ name: "A" });
    for (const label of ["one", "two"]) {
      await store.create(steps, { planId: source.id, label, friendIds: [source.id] }, everybody);
    }
    const copy = await store.clone(plans, source.id, everybody);
    const copied = store.find(steps, { planId: copy.id });
    expect(copied.map(({ label, friendIds }) => ({ label, friendIds }))).toEqual([
      { label: "one", friendIds: [source.id] },
      { label: "two", friendIds: [source.id] },
    ]);
    expect(store.count(steps, { planId: source.id })).toBe(2);
    const fed = store.all<{ type: string }>(
      "SELECT type FROM changes WHERE row_id IN (?, ?, ?)",
      copy.id,
      ...(copied.map((row) => row.id) as [string, string]),
    );
    expect(fed.map((row) => row.type)).toEqual(["plans", "steps", "steps"]);
  });

  it("copies children for a caller who sees only the source", async () => {
    fresh();
    const source = await plan({ name: "A" });
    await store.create(steps, { planId: source.id, label: "one" }, everybody);
    const visible = () => ({ sql: "t.id = ?", params: [source.id] });
    const by: ActorContext = { ...everybody, scope: { ...everybody.scope, visible } };
    const { id } = await store.clone(plans, source.id, by);
    expect(store.find(steps, { planId: id })).toHaveLength(1);
  });

  it("writes nothing when a child is refused", async () => {
    let refuse = false;
    fresh({
      steps: {
        beforeWrite() {
          if (refuse) throw new RangeError("refused");
        },
      },
    });
    const source = await plan({ name: "A" });
    await store.create(steps, { planId: source.id, label: "one" }, everybody);
    refuse = true;
    await expect(store.clone(plans, source.id, everybody)).rejects.toThrow("refused");
    expect(store.count(plans, {})).toBe(1);
  });

  it("counts the copy against the row limit", async () => {
    fresh();
    const source = await plan({ name: "A" });
    for (let at = 1; at < 12; at++) await store.clone(plans, source.id, everybody);
    await expect(store.clone(plans, source.id, everybody)).rejects.toMatchObject({
      type: "limit-exceeded",
      message: "Limit of 12 plans reached.",
    });
    expect(store.count(plans, {})).toBe(12);
  });

  it("rejects missing and hidden rows as not found", async () => {
    fresh();
    const source = await plan({ name: "A" });
    await expect(store.clone(plans, source.id.replace(/^./, "f"), everybody)).rejects.toMatchObject({
      type: "not-found",
    });
    const blind: ActorContext = { ...everybody, scope: { ...everybody.scope, visible: () => "none" } };
    await expect(store.clone(plans, source.id, blind)).rejects.toMatchObject({ type: "not-found" });
    await expect(store.clone(steps, source.id, everybody)).rejects.toThrow("not declared");
    expect(store.count(plans, {})).toBe(1);
  });
});
