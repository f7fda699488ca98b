import { describe, expect, it } from "vitest";
import { applyEdit, diffRows, mergeEdit, type RowEdit } from "../../../src/sync/protocol/field-merge.ts";
import { SECRET_MARKS } from "../../../src/sync/protocol/secret-marks.ts";
import type { RowBody } from "../../../src/sync/storage/transaction-program.ts";

const LISTS = new Set(["members"]);
const ROW: RowBody = { id: "r", createdAt: 1, updatedAt: 2, name: "Bell", volume: 5, note: null, members: ["a", "b"] };

function editOf(before: RowBody | null, after: RowBody | null): RowEdit {
  const edit = diffRows(before, after, LISTS);
  if (!edit) throw new Error("nothing changed");
  return edit;
}

describe("the difference of two rows", () => {
  it("is null for equal rows, whatever the order of members and the timestamps", () => {
    expect(diffRows(null, null, LISTS)).toBeNull();
    expect(diffRows(ROW, { ...ROW, updatedAt: 9, createdAt: 9, id: "s" }, LISTS)).toBeNull();
    const nested = { ...ROW, place: { site: "s", floor: 1, zone: undefined } };
    expect(diffRows(nested, { ...ROW, place: { floor: 1, site: "s" } }, LISTS)).toBeNull();
  });

  it("holds changed fields with a hash of their old value, and null for removed ones", () => {
    const { volume: _, ...without } = ROW;
    const edit = editOf(ROW, { ...without, name: "Gong" });
    expect(edit).toMatchObject({ op: "update", set: { name: "Gong", volume: null }, add: {}, remove: {} });
    expect(Object.keys(edit.was).sort()).toEqual(["name", "volume"]);
    expect(edit.was.name).toMatch(/^[0-9a-f]{16}$/);
  });

  it("holds additions and removals of id lists, each only if there are any", () => {
    expect(editOf(ROW, { ...ROW, members: ["a", "b", "c"] })).toEqual({
      ...{ op: "update", set: {}, add: { members: ["c"] }, remove: {}, was: {} },
    });
    expect(editOf(ROW, { ...ROW, members: ["b"] })).toMatchObject({ add: {}, remove: { members: ["a"] } });
    expect(editOf({ ...ROW, members: null }, { ...ROW, members: ["z"] })).toMatchObject({ add: { members: ["z"] } });
    expect(editOf(ROW, { ...ROW, members: null }).remove).toEqual({ members: ["a", "b"] });
  });

  it("sets an id list as a whole if only its order changed", () => {
    expect(editOf(ROW, { ...ROW, members: ["b", "a"] })).toMatchObject({ set: { members: ["b", "a"] }, add: {} });
  });

  it("sets lists that are not id lists as a whole", () => {
    const row = { ...ROW, days: [1] };
    expect(editOf(row, { ...row, days: [1, 2] }).set).toEqual({ days: [1, 2] });
  });

  it("is a creation or a deletion with the hash of the row", () => {
    expect(editOf(null, ROW)).toEqual({ op: "create", set: ROW, add: {}, remove: {}, was: {} });
    const edit = editOf(ROW, null);
    expect([edit.op, Object.keys(edit.was)]).toEqual(["delete", ["*"]]);
  });
});

describe("an edit applied at the site", () => {
  it("changes the row as the editor saw it", () => {
    const after = { ...ROW, name: "Gong", members: ["b", "c"] };
    expect(applyEdit(ROW, editOf(ROW, after))).toEqual(after);
    expect(applyEdit(ROW, editOf(ROW, null))).toBeNull();
    expect(applyEdit(null, editOf(null, ROW))).toEqual(ROW);
    expect(applyEdit({ kept: 1 }, editOf(null, ROW))).toEqual({ kept: 1, ...ROW });
    expect(applyEdit(null, editOf(ROW, after))).toBeNull();
  });
});

describe("an edit merged in the cloud", () => {
  const rename = editOf(ROW, { ...ROW, name: "Gong", volume: 7 });

  it("keeps the cloud's value of a field that changed, and merges the others", () => {
    expect(mergeEdit({ ...ROW, note: "new" }, rename)).toEqual({
      body: { ...ROW, note: "new", name: "Gong", volume: 7 },
      ...{ lost: [], result: "merged" },
    });
    expect(mergeEdit({ ...ROW, name: "Chime" }, rename)).toEqual({
      body: { ...ROW, name: "Chime", volume: 7 },
      ...{ lost: ["name"], result: "conflict" },
    });
  });

  it("is no conflict if both set the same value", () => {
    expect(mergeEdit({ ...ROW, name: "Gong" }, rename)).toMatchObject({ lost: [], result: "merged" });
  });

  it("overrides the cloud's values if it wins", () => {
    expect(mergeEdit({ ...ROW, name: "Chime" }, rename, true)).toMatchObject({
      body: { name: "Gong", volume: 7 },
      ...{ lost: [], result: "merged" },
    });
  });

  it("merges additions and removals of both sides without duplicates", () => {
    const edit = editOf(ROW, { ...ROW, members: ["b", "c", "d"] });
    expect(mergeEdit({ ...ROW, members: ["a", "b", "d", "x"] }, edit).body?.members).toEqual(["b", "d", "x", "c"]);
    expect(mergeEdit({ ...ROW, members: null }, edit).body?.members).toEqual(["c", "d"]);
  });

  it("is gone for a deleted row, with all its fields", () => {
    const edit = editOf(ROW, { ...ROW, name: "Gong", members: ["b", "c"] });
    expect(mergeEdit(null, edit)).toEqual({ body: null, lost: ["name", "members"], result: "gone" });
  });

  it("creates a row, and adds the fields of a second creation", () => {
    expect(mergeEdit(null, editOf(null, ROW))).toEqual({ body: ROW, lost: [], result: "merged" });
    expect(mergeEdit({ ...ROW, name: "Chime" }, editOf(null, ROW))).toMatchObject({
      ...{ lost: ["name"], result: "conflict" },
    });
  });

  it("never conflicts in derived fields", () => {
    const edit = { ...rename, set: { ...rename.set, updatedAt: 99 } };
    expect(mergeEdit({ ...ROW, updatedAt: 50 }, edit)).toMatchObject({ lost: [], result: "merged" });
  });

  it("deletes an unchanged row, and conflicts with a changed one unless it wins", () => {
    const edit = editOf(ROW, null);
    expect(mergeEdit(ROW, edit)).toEqual({ body: null, lost: [], result: "merged" });
    expect(mergeEdit(null, edit)).toEqual({ body: null, lost: [], result: "merged" });
    const changed = { ...ROW, name: "Chime" };
    expect(mergeEdit(changed, edit)).toEqual({ body: changed, lost: ["*"], result: "conflict" });
    expect(mergeEdit(changed, edit, true)).toMatchObject({ body: null, result: "merged" });
  });

  it("ignores timestamps, null fields and secrets when it compares a deleted row", () => {
    const edit = editOf(ROW, null);
    const same = { ...ROW, updatedAt: 77, added: null, "hash:pin": "x", [SECRET_MARKS]: { pin: "y" } } as RowBody;
    expect(mergeEdit(same, edit).result).toBe("merged");
    expect(mergeEdit({ ...same, note: "" }, edit).result).toBe("conflict");
  });
});
