import { expect, it } from "vitest";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import {
  comparedFields,
  createInventory,
  fieldHashes,
  unequalBuckets,
} from "../../../src/sync/protocol/content-digests.ts";
import { productReplicatedTypes } from "../../../src/sync/protocol/product-replicated-types.ts";
import { bucketIndex } from "../../../src/sync/protocol/row-digests.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";

const LISTS = new Set(["memberIds"]);
const FIELDS = ["name", "memberIds", "days"];

function inventoryOf(rows: readonly [id: string, seq: number, body: Record<string, unknown> | null][]) {
  const inventory = createInventory("rooms");
  for (const [id, seq, body] of rows) inventory.add(id, seq, fieldHashes(body, FIELDS, LISTS));
  return inventory.result();
}

it("finds the bucket of a row whose content differs, and none for another order of rows, members or ids", () => {
  const one = { name: "Gym", memberIds: ["a", "b"], days: [{ from: 1, to: 2 }] };
  const same = { days: [{ to: 2, from: 1 }], memberIds: ["b", "a"], name: "Gym", note: "not compared" };
  const ours = inventoryOf([
    ["r1", 4, one],
    ["r2", 5, { name: "Hall" }],
  ]);
  const equal = inventoryOf([
    ["r2", 5, { name: "Hall", memberIds: null }],
    ["r1", 4, same],
  ]);
  expect([ours.versions, unequalBuckets(ours, equal)]).toEqual([equal.versions, []]);
  for (const other of [
    { ...one, name: "gym" },
    { ...one, memberIds: ["a"] },
    { ...one, days: [{ from: 2, to: 1 }] },
    null,
  ]) {
    const theirs = inventoryOf([
      ["r1", 4, other],
      ["r2", 5, { name: "Hall" }],
    ]);
    expect([theirs.versions, unequalBuckets(ours, theirs)]).toEqual([ours.versions, [bucketIndex("r1")]]);
  }
});

it("has other versions for a missing row, another version of a row and another row", () => {
  const { versions } = inventoryOf([["r1", 4, { name: "Gym" }]]);
  for (const rows of [[], [["r1", 5, { name: "Gym" }]], [["r2", 4, { name: "Gym" }]]] as const)
    expect(inventoryOf(rows as never).versions).not.toEqual(versions);
});

it("compares every field of the configuration except secrets and what each side keeps to itself", async () => {
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const types = productReplicatedTypes(catalogue);
  const left = types.cloudOwned.flatMap((type) => {
    const resource = catalogue.byName(type);
    const compared = comparedFields(resource, types);
    return Object.entries(resource.fields).flatMap(([name, { kind }]) =>
      kind === "secret" || kind === "computed" || compared.includes(name) ? [] : [`${type}.${name}`],
    );
  });
  const local = ["message-templates.ttsVoiceId", "rule-actions.triggerId", "tts-defaults.ttsVoiceId"];
  const ofOneSide = [
    ...["distribution-lists.loadSourceId", "scim-tokens.lastUsedAt", "user-tokens.lastUsedAddress"],
    ...["user-tokens.lastUsedAt", "users.loadSourceId"],
  ];
  expect(left.sort()).toEqual(["extensions.config", ...local, ...ofOneSide].sort());
});
