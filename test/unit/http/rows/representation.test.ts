import { describe, expect, it } from "vitest";
import { createIsoFormatter } from "../../../../src/http/iso-timestamp.ts";
import {
  compileRowWriter,
  type RepresentationExtras,
  type UntypedRow,
} from "../../../../src/http/rows/representation.ts";
import { timestamp } from "../../../../src/schema/field.ts";
import { defineResource } from "../../../../src/schema/resource.ts";
import { rooms } from "../../store/store-fixture.ts";

const AT = Date.parse("2026-01-31T07:10:00.005Z");
const ID = "01900000-0000-7000-8000-000000000001";
const FILE = { sha256: "00", size: 70, fileName: 'a"b.png', contentType: "image/png", metadata: { width: 1 } };

const write = compileRowWriter(rooms, createIsoFormatter());
const row = (values: Record<string, unknown> = {}): UntypedRow =>
  ({ pk: 1, id: ID, createdAt: AT, updatedAt: AT, domainId: null, alsoIn: null, roomIds: [], ...values }) as UntypedRow;
const shown = (values: Record<string, unknown> = {}, parts: RepresentationExtras = {}) =>
  JSON.parse(write(row(values), parts));

describe("a representation", () => {
  it("contains every field in declaration order, null if not set", () => {
    const text = write(row({ name: "R" }), {});
    expect(Object.keys(JSON.parse(text))).toEqual([
      ..."id name seats open since kind tags place notes keeperId ghostId plan planFiles label".split(" "),
      ..."createdAt updatedAt".split(" "),
    ]);
    expect(JSON.parse(text)).toMatchObject({ id: ID, seats: null, plan: 0, planFiles: [], label: null });
  });
  it("writes values as JSON, times as ISO texts", () => {
    const values = {
      name: 'a "quoted"\n\u2028 é 𝄞',
      seats: 3,
      open: false,
      since: AT,
      kind: "lab",
      tags: ["a", '"'],
      place: { floor: 2 },
      notes: { deep: [1, { x: null }] },
      keeperId: ID,
      plan: FILE,
    };
    expect(shown(values)).toEqual({
      ...values,
      id: ID,
      since: "2026-01-31T07:10:00.005Z",
      place: { floor: 2, wing: null },
      ghostId: null,
      plan: 70,
      planFiles: [{ fileName: 'a"b.png', size: 70, contentType: "image/png", metadata: { width: 1 } }],
      label: null,
      createdAt: "2026-01-31T07:10:00.005Z",
      updatedAt: "2026-01-31T07:10:00.005Z",
    });
  });
  it("never shows secrets and internal fields", () => {
    const text = write(row({ pin: "v1:sealed", marker: "inner", pk: 77 }), {});
    expect(text).not.toMatch(/sealed|inner|marker|pin|77/);
  });
  it("lets a hook replace, add and omit members", () => {
    const parts = { extras: { notes: "hidden", label: "L", more: [1], gone: undefined }, more: ',"keeper":{"id":1}' };
    expect(shown({ notes: "stored" }, parts)).toMatchObject({
      notes: "hidden",
      label: "L",
      more: [1],
      keeper: { id: 1 },
    });
    expect(shown({}, parts)).not.toHaveProperty("gone");
    expect(shown({}, { extras: {} })).not.toHaveProperty("label");
  });
  it("includes file URLs on request", () => {
    const { planFiles } = shown({ plan: FILE }, { fileUrl: (field) => `/rooms/1/${field}` });
    expect(planFiles[0].url).toBe("/rooms/1/plan");
  });
  it("includes the home domain of domain-scoped rows only", () => {
    const things = defineResource({ ...rooms, name: "things", scope: "domain", fields: { at: timestamp("At.") } });
    const writeThing = compileRowWriter(things, createIsoFormatter());
    expect(JSON.parse(writeThing(row({ domainId: ID }), {})).domainId).toBe(ID);
    expect(JSON.parse(writeThing(row(), {})).domainId).toBeNull();
    expect(shown()).not.toHaveProperty("domainId");
  });
});

describe("ISO timestamps", () => {
  it.each([0, 1, AT, Date.UTC(2024, 1, 29, 23, 59, 59, 999), 253_402_300_799_999, -1, 86_400_000])("of %d", (at) => {
    const isoText = createIsoFormatter();
    expect(isoText(at)).toBe(new Date(at).toISOString());
    expect(isoText(at)).toBe(new Date(at).toISOString());
  });
});
