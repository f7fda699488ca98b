import { describe, expect, it } from "vitest";
import { newId } from "../../../src/lib/ids.ts";
import { ENDPOINT_ACTIVITY_TYPES } from "../../../src/resources/devices/endpoint-activity-types.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import {
  ACTIVITY_TYPE,
  type ActivityContext,
  enqueueChangedActivities,
  incrementTally,
  recordCheckpointActivities,
  recordSentActivities,
} from "../../../src/sync/site/sync-activities.ts";
import { activityTypesOf } from "../../../src/sync/site/sync-activity-types.ts";
import { initializeSyncState } from "../../../src/sync/site/sync-state.ts";
import { OUTBOX, type Tallies } from "../../../src/sync/site/tables.ts";
import { type RowBody, scanRecords } from "../../../src/sync/storage/transaction-program.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";

const HOUR = 3_600_000;
const TYPES = {
  ...readReplicatedTypes(CATALOGUE),
  replicationClass: (type: string) => (type === "devices" ? "C" : "B"),
} as const;

function begun(): { site: MemoryStore; journal: ActivityContext; told(): RowBody[] } {
  const site = createMemoryStore(CATALOGUE);
  site.perform(() => initializeSyncState("site-a", "types"));
  const told = (): RowBody[] =>
    [...site.rows].flatMap(([key, body]) => (key.startsWith(`${ACTIVITY_TYPE}/`) ? [body] : []));
  return { site, journal: { types: TYPES, commonFields: { site: "site-a" }, now: 10 * HOUR, newId }, told };
}

describe("sync activities", () => {
  it("account for every row of a checkpoint, with types of the API", () => {
    const { site, journal, told } = begun();
    const rows = ["message-templates", "distribution-lists", "bell-schedules", "activation-groups", "callmgr-clusters"];
    let tallies: Tallies = {};
    for (const type of [...rows, "users", "brandings"]) {
      for (const fate of ["made", "made", "changed", "deleted", "refused"] as const)
        tallies = incrementTally(tallies, type, fate, newId());
    }
    site.perform(() => recordCheckpointActivities(journal, tallies, 35));
    const all = told().map(({ type, state, severity, value }) => ({ type, state, severity, ...(value as object) }));
    expect(ENDPOINT_ACTIVITY_TYPES).toEqual(expect.arrayContaining(all.map(({ type }) => type)));
    const sums = all.map((entry) => ("rows" in entry ? Number(entry.rows) : 0));
    expect(sums.reduce((sum, each) => sum + each, 0)).toBe(35);
    const ofMessages = all.filter(({ type }) => type === "message-create");
    expect(ofMessages).toEqual(
      [1, 2].map(() => ({
        ...{ type: "message-create", state: "success", severity: "debug", times: 1, since: expect.any(String) },
        ...{ resource: "message-templates", id: expect.any(String) },
      })),
    );
    const failed = all.filter(({ state }) => state === "fail").map(({ type }) => type);
    expect(failed).toEqual(expect.arrayContaining(["message-sync", "message-skipped", "scheduled-broadcast-skipped"]));
  });

  it("share one row per hour for any number of checkpoints", () => {
    const { site, journal, told } = begun();
    const tallies = incrementTally({}, "users", "changed", newId());
    for (let mark = 1; mark <= 300; mark += 1) site.perform(() => recordCheckpointActivities(journal, tallies, mark));
    expect(told().map(({ value }) => value)).toMatchObject([{ rows: 300, marks: 300, to: 300 }]);
    site.perform(() => recordCheckpointActivities({ ...journal, now: 11 * HOUR }, tallies, 301));
    expect(told()).toHaveLength(2);
  });

  it.each([
    ["message-templates", "message-update", "message-template"],
    ["distribution-lists", "recipient-group-update", "distribution-list"],
    ["scheduled-notifications", "scheduled-broadcast-update", "scheduled-notifications"],
  ])("name each of the %s, and add up what happens to one of them", (resource, type, referenceType) => {
    const { site, journal, told } = begun();
    const [one, two] = [newId(), newId()];
    for (const id of [one, two, one]) {
      const tallies = incrementTally({}, resource, "changed", id);
      site.perform(() => recordCheckpointActivities(journal, tallies, 1));
    }
    const named = told().filter((body) => body.type === type);
    expect(named.map(({ referenceId, value }) => [referenceId, (value as RowBody).times]).sort()).toEqual(
      [
        [one, 2],
        [two, 1],
      ].sort(),
    );
    expect(named.every((body) => body.referenceType === referenceType)).toBe(true);
  });

  it("name refused rows, and sum up those beyond 50 of a checkpoint", () => {
    const { site, journal, told } = begun();
    let tallies: Tallies = {};
    const ids = Array.from({ length: 70 }, () => newId());
    for (const id of ids) tallies = incrementTally(tallies, "message-templates", "refused", id);
    site.perform(() => recordCheckpointActivities(journal, tallies, 70));
    const skipped = told().filter(({ type }) => type === "message-skipped");
    expect(skipped.flatMap(({ referenceId }) => referenceId ?? []).sort()).toEqual(ids.slice(0, 50).sort());
    const summed = skipped.filter(({ referenceId }) => referenceId === undefined);
    expect(summed).toMatchObject([{ state: "fail", value: { skipped: 20 } }]);
  });

  it("report acknowledged records and are sent in their newest version", () => {
    const { site, journal, told } = begun();
    for (let turn = 0; turn < 5; turn += 1) site.perform(() => recordSentActivities(journal, { devices: 3 }));
    site.perform(() => enqueueChangedActivities(journal));
    site.perform(() => enqueueChangedActivities(journal));
    expect(told()).toMatchObject([{ type: "device-sync", value: { sent: 15 } }]);
    const out = site.perform(() => scanRecords(OUTBOX));
    expect(out).toMatchObject([{ type: ACTIVITY_TYPE, op: "p", body: { value: { sent: 15 } } }]);
  });

  it("have a type for every resource", () => {
    for (const cls of ["A", "B", "C", "D"]) {
      expect(ENDPOINT_ACTIVITY_TYPES).toContain(activityTypesOf("a resource that is not yet thought of", cls).sync);
    }
  });
});
