import { describe, expect, it } from "vitest";
import { newId } from "../../../src/base/ids.ts";
import { familyOf } from "../../../src/replication/activity-types.ts";
import { replicatedTypes } from "../../../src/replication/replicated-types.ts";
import {
  ACTIVITY_TYPE,
  counted,
  type Journal,
  sendActivities,
  tellMark,
  tellSent,
} from "../../../src/replication/site/activities.ts";
import { prepareLink } from "../../../src/replication/site/link-state.ts";
import { OUT, type Tallies } from "../../../src/replication/site/tables.ts";
import { type Body, scan } from "../../../src/replication/work.ts";
import { ENDPOINT_ACTIVITY_TYPES } from "../../../src/resources/devices/endpoint-activity-types.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";

const HOUR = 3_600_000;
const TYPES = { ...replicatedTypes(CATALOGUE), classOf: (type: string) => (type === "devices" ? "C" : "B") } as const;

function begun(): { site: MemoryStore; journal: Journal; told(): Body[] } {
  const site = createMemoryStore(CATALOGUE);
  site.perform(() => prepareLink("site-a", "types"));
  const told = (): Body[] =>
    [...site.rows].flatMap(([key, body]) => (key.startsWith(`${ACTIVITY_TYPE}/`) ? [body] : []));
  return { site, journal: { types: TYPES, about: { site: "site-a" }, now: 10 * HOUR, newId }, told };
}

describe("activities of the link", () => {
  it("account for every row of a mark, under names of the API's list", () => {
    const { site, journal, told } = begun();
    const rows = ["message-templates", "distribution-lists", "bell-schedules", "activation-groups", "callmgr-clusters"];
    let tallies: Tallies = {};
    for (const type of [...rows, "users", "brandings"]) {
      for (const what of ["made", "made", "changed", "deleted", "refused"] as const)
        tallies = counted(tallies, type, what);
    }
    site.perform(() => tellMark(journal, tallies, 35));
    const all = told().map(({ type, state, severity, value }) => ({ type, state, severity, ...(value as object) }));
    expect(ENDPOINT_ACTIVITY_TYPES).toEqual(expect.arrayContaining(all.map(({ type }) => type)));
    const sums = all.map((entry) => ("rows" in entry ? Number(entry.rows) : 0));
    expect(sums.reduce((sum, each) => sum + each, 0)).toBe(35);
    expect(all).toContainEqual({
      ...{ type: "message-create", state: "success", severity: "debug" },
      times: 2,
      since: expect.any(String),
    });
    const failed = all.filter(({ state }) => state === "fail").map(({ type }) => type);
    expect(failed).toEqual(expect.arrayContaining(["message-sync", "message-skipped", "scheduled-broadcast-skipped"]));
  });

  it("are one row an hour, however many marks there are", () => {
    const { site, journal, told } = begun();
    const tallies = counted({}, "users", "changed");
    for (let mark = 1; mark <= 300; mark += 1) site.perform(() => tellMark(journal, tallies, mark));
    expect(told().map(({ value }) => value)).toMatchObject([{ rows: 300, marks: 300, to: 300 }]);
    site.perform(() => tellMark({ ...journal, now: 11 * HOUR }, tallies, 301));
    expect(told()).toHaveLength(2);
  });

  it("tell of what was sent, and go up themselves as they are by then", () => {
    const { site, journal, told } = begun();
    for (let turn = 0; turn < 5; turn += 1) site.perform(() => tellSent(journal, { devices: 3 }));
    site.perform(() => sendActivities(journal));
    site.perform(() => sendActivities(journal));
    expect(told()).toMatchObject([{ type: "device-sync", value: { sent: 15 } }]);
    const out = site.perform(() => scan(OUT));
    expect(out).toMatchObject([{ type: ACTIVITY_TYPE, op: "p", body: { value: { sent: 15 } } }]);
  });

  it("have a name for every resource", () => {
    for (const cls of ["A", "B", "C", "D"]) {
      expect(ENDPOINT_ACTIVITY_TYPES).toContain(familyOf("a resource that is not yet thought of", cls).sync);
    }
  });
});
