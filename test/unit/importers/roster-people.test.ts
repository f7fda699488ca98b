import { describe, expect, it } from "vitest";
import { foldName } from "../../../src/importers/record-reader.ts";
import { parseRosterDate, type RosterRecord } from "../../../src/importers/roster-files.ts";
import { type LocalDays, resolveRoster } from "../../../src/importers/roster-people.ts";
import { systemClock } from "../../../src/lib/clock.ts";

const file = (rows: Record<string, RosterRecord>) =>
  new Map(Object.entries(rows).map(([id, record], at) => [id, { line: at + 2, record }] as const));
const days = (today: string): LocalDays => ({ today, endOf: (day) => Date.parse(`${day}T24:00:00Z`) });
const never = (): void => undefined;
const namesOf = async (roster: Parameters<typeof resolveRoster>[0]): Promise<string[]> =>
  [...(await resolveRoster(roster, days("2026-10-01"), never, systemClock)).lists.values()].map(({ name }) => name);

describe("lists of a roster", () => {
  it("use the title if it is unique", async () => {
    expect(
      await namesOf({ orgs: file({ s1: { name: "North" } }), classes: file({ c1: { title: "Algebra I" } }) }),
    ).toEqual(["North", "Algebra I"]);
  });

  it("add the school, then the term, then the code if several share the title", async () => {
    const orgs = file({ s1: { name: "North" }, s2: { name: "South" } });
    const academicSessions = file({ t1: { title: "Autumn" }, t2: { title: "Spring" } });
    const title = "Algebra I";
    const classes = file({
      c1: { title, schoolSourcedId: "s1", termSourcedIds: "t1" },
      c2: { title: "ALGEBRA Ⅰ", schoolSourcedId: "s1", termSourcedIds: "t2" },
      c3: { title, schoolSourcedId: "s2", termSourcedIds: "t1", classCode: "A" },
      c4: { title, schoolSourcedId: "s2", termSourcedIds: "t1", classCode: "B" },
      c5: { title: "Art", schoolSourcedId: "s2" },
      c6: { title, schoolSourcedId: "s3" },
    });
    expect(await namesOf({ orgs, classes, academicSessions })).toEqual([
      ...["North", "South", "Art", "Algebra I", "Algebra I (North, Autumn)", "ALGEBRA Ⅰ (North, Spring)"],
      ...["Algebra I (South, Autumn, A)", "Algebra I (South, Autumn, B)"],
    ]);
  });

  it("fit into a list's name, and stay different", async () => {
    const title = "A".repeat(200);
    const classes = file({ c1: { title }, c2: { title } });
    const names = await namesOf({ classes });
    expect(names.every((name) => name.length <= 140)).toBe(true);
    expect(new Set(names).size).toBe(2);
  });
});

describe("members of a roster's lists", () => {
  const users = file({ u1: { givenName: "Ann" } });
  const memberships = async (today: string, enrollment: RosterRecord, term: RosterRecord = {}) => {
    const roster = {
      users,
      academicSessions: file({ t1: term }),
      classes: file({ c1: { title: "Art", termSourcedIds: "t1" } }),
      enrollments: file({ e1: { classSourcedId: "c1", userSourcedId: "u1", ...enrollment } }),
    };
    return (await resolveRoster(roster, days(today), never, systemClock)).people[0]?.memberships;
  };
  const END = Date.parse("2027-06-11T00:00:00Z");

  it.each([
    ["before it begins", "2026-08-19", undefined],
    ["on its first day", "2026-08-20", END],
    ["on its last day", "2027-06-10", END],
    ["after its last day", "2027-06-11", undefined],
  ])("are as the enrolment says %s", async (_when, today, end) => {
    const dates = { beginDate: "2026-08-20", endDate: "2027-06-10" };
    expect((await memberships(today, dates))?.get("class:c1")).toBe(end);
    expect(
      (await memberships(today, {}, { startDate: dates.beginDate, endDate: dates.endDate }))?.get("class:c1"),
    ).toBe(end);
  });

  it("end with the earlier of enrolment and term, and never without dates", async () => {
    expect(
      (await memberships("2026-10-01", { endDate: "2027-06-10" }, { endDate: "2027-12-31" }))?.get("class:c1"),
    ).toBe(END);
    expect(
      (await memberships("2026-10-01", { endDate: "2027-12-31" }, { endDate: "2027-06-10" }))?.get("class:c1"),
    ).toBe(END);
    expect((await memberships("2026-10-01", {}))?.get("class:c1")).toBeNull();
  });

  it("warn of enrolments in unknown classes, with file, line and column", async () => {
    const warnings: unknown[] = [];
    const enrollments = file({ e1: { classSourcedId: "c9", userSourcedId: "u1" } });
    await resolveRoster({ users, enrollments }, days("2026-10-01"), (message) => warnings.push(message), systemClock);
    expect(warnings).toMatchObject([{ file: "enrollments.csv", line: 2, column: "classSourcedId" }]);
  });

  it("belong to the organisations of users.csv (1.1) and of roles.csv (1.2)", async () => {
    const orgs = file({ s1: { name: "North" }, s2: { name: "South" }, s3: { name: "West" } });
    const roster = {
      orgs,
      users: file({ u1: { givenName: "Ann", orgSourcedIds: "s1, s2" }, u2: { givenName: "Bob" } }),
      roles: file({
        r1: { userSourcedId: "u2", orgSourcedId: "s2", role: "teacher" },
        r2: { userSourcedId: "u2", orgSourcedId: "s3", role: "teacher", endDate: "2026-09-30" },
      }),
    };
    const { people } = await resolveRoster(roster, days("2026-10-01"), never, systemClock);
    expect(people.map((person) => [...person.memberships.keys()])).toEqual([["org:s1", "org:s2"], ["org:s2"]]);
  });
});

it("dates are read as programs write them", () => {
  expect(["2026-08-31", "2026-8-1", "2026-08-31T00:00:00Z", "20260831", "31.08.2026"].map(parseRosterDate)).toEqual([
    ...["2026-08-31", "2026-08-01", "2026-08-31", "2026-08-31", "2026-08-31"],
  ]);
  expect(["2026-02-30", "08/31/2026", "soon", ""].map(parseRosterDate)).toEqual([null, null, null, null]);
});

it("names are compared in NFKC without case", () => {
  const same = ["Chœur Zoë", "CHŒUR ZOE\u0308", " ｃhœur zoë "].map(foldName);
  expect(new Set(same).size).toBe(1);
});
