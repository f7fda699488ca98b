import { describe, expect, it } from "vitest";
import type { FilterableDevice } from "../../../src/devices/device-filter.ts";
import { compileGroups, parseGroupDefinition } from "../../../src/devices/group-definition.ts";

type Definition = Record<string, unknown>;

function device(pk: number, identifier: string, type: string, attributes: Record<string, unknown>): FilterableDevice {
  const mac = attributes.MACAddress;
  const icopId = typeof mac === "string" ? mac : identifier;
  return { pk, icopId, deviceIdentifier: identifier, description: `${type} ${pk}`, type, attributes };
}

const DEVICES = [
  device(1, "SEP001122334401", "phones", {
    Name: "Room 101",
    DeviceProduct: "8845",
    IPAddress: "10.1.0.1",
    CallManagerDevicePool: "North",
  }),
  device(2, "SEP001122334402", "phones", {
    Name: "Room 102",
    DeviceProduct: "8845",
    IPAddress: "10.1.0.2",
    CallManagerDevicePool: "South",
  }),
  device(3, "SEP001122334403", "phones", {
    Name: "room 201",
    DeviceProduct: "7821",
    IPAddress: "10.2.0.3",
    CallManagerDevicePool: "North",
  }),
  device(4, "SEP001122334404", "phones", { Name: "Office", DeviceProduct: "7821", DirectoryNumbers: ["1004", "5004"] }),
  device(5, "zone:gym", "speakers", { Name: "Gym", Volume: "7" }),
  device(6, "speaker-6", "speakers", { Name: "Hall (north)", MACAddress: "AABBCCDDEE06", Location: "Hall" }),
  device(7, "pc-7", "idns", { Name: "Desk 7", MACAddress: "AABBCCDDEE07" }),
  device(8, "contact-8", "plugins", { Name: "Door [8]", Location: "" }),
];

const is = (attribute: string, comparison: string, value: string, more: Definition = {}) => ({
  attribute,
  comparison,
  value,
  ...more,
});
const not = { complement: true };
const exactly = { caseSensitive: true };

/** Members of the group `it`, whose bases may be among `others`. */
function members(definition: Definition, others: Record<string, Definition> = {}): number[] {
  const groups = new Map(
    Object.entries({ ...others, it: definition }).map(([id, group]) => [id, parseGroupDefinition(group)]),
  );
  const group = compileGroups(groups).get("it");
  return DEVICES.filter((candidate) => group?.contains(candidate)).map((candidate) => candidate.pk);
}

const one = (filter: Definition): Definition => ({ filterType: "OR", filters: [filter] });
const several = (filterType: string, ...filters: Definition[]): Definition => ({ filterType, filters });
const logical = (logicalExpression: string, ...filters: Definition[]): Definition => ({
  filterType: "LOGICAL_EXPRESSION",
  logicalExpression,
  filters,
});

const PHONE = is("type", "EQUALS", "phones");
const NORTH = is("CallManagerDevicePool", "EQUALS", "North");
const BIG = is("DeviceProduct", "EQUALS", "8845");

describe("one filter", () => {
  const cases: [string, Definition, number[]][] = [
    ["EQUALS", is("Name", "EQUALS", "Office"), [4]],
    ["EQUALS ignores case unless asked", is("Name", "EQUALS", "ROOM 201"), [3]],
    ["EQUALS with case", is("Name", "EQUALS", "ROOM 201", exactly), []],
    ["EQUALS, the whole value", is("Name", "EQUALS", "Room"), []],
    ["EQUALS the empty text: attribute absent or empty", is("Location", "EQUALS", ""), [1, 2, 3, 4, 5, 7, 8]],
    ["BEGINS_WITH", is("Name", "BEGINS_WITH", "room"), [1, 2, 3]],
    ["BEGINS_WITH with case", is("Name", "BEGINS_WITH", "Room", exactly), [1, 2]],
    ["BEGINS_WITH the empty text: everything", is("Name", "BEGINS_WITH", ""), [1, 2, 3, 4, 5, 6, 7, 8]],
    ["CONTAINS", is("IPAddress", "CONTAINS", ".1.0"), [1, 2]],
    ["CONTAINS takes signs as they are", is("Name", "CONTAINS", "(n"), [6]],
    ["CONTAINS with case", is("Name", "CONTAINS", "OOM", exactly), []],
    ["ENDS_WITH", is("Name", "ENDS_WITH", "1"), [1, 3]],
    ["ENDS_WITH with case", is("Name", "ENDS_WITH", "gym", exactly), []],
    ["complement", is("type", "EQUALS", "phones", not), [5, 6, 7, 8]],
    ["complement of an absent attribute", is("Volume", "EQUALS", "7", not), [1, 2, 3, 4, 6, 7, 8]],
    ["an attribute with several values: one is enough", is("DirectoryNumbers", "EQUALS", "5004"), [4]],
    [
      "several values and complement: none may match",
      is("DirectoryNumbers", "BEGINS_WITH", "10", not),
      [1, 2, 3, 5, 6, 7, 8],
    ],
    ["an unknown attribute", is("Colour", "CONTAINS", "red"), []],
    ["the identifier", is("deviceIdentifier", "BEGINS_WITH", "zone:"), [5]],
    ["the kind by its attribute name", is("ServiceDeviceType", "EQUALS", "speakers"), [5, 6]],
    ["the icopId", is("icopId", "EQUALS", "aabbccddee07"), [7]],
    ["the description", is("Description", "ENDS_WITH", " 8"), [8]],
  ];
  it.each(cases)("%s", (_, filter, expected) => expect(members(one(filter))).toEqual(expected));
});

describe("patterns", () => {
  it("are rejected above the total cost limit, whatever makes them expensive", () => {
    const ofOne = (pattern: string) => () => parseGroupDefinition(several("OR", is("Name", "MATCHES_REGEX", pattern)));
    for (const pattern of ["(a|b?){1000}".repeat(2), "[\\pL\\p{N}]".repeat(15), "[B-\\x{1e942}]".repeat(5)]) {
      const many = Array.from({ length: 5 }, () => is("Name", "MATCHES_REGEX", pattern));
      expect(() => parseGroupDefinition(several("OR", ...many))).toThrow("exceed the total cost limit");
    }
    expect(ofOne("[\\p{L}\\p{N}]{1000}".repeat(10))).toThrow("exceed the total cost limit");
    const ordinary = Array.from({ length: 200 }, (_, at) =>
      is("Name", "MATCHES_REGEX", `^(SEP|ATA)[0-9A-F]{9}${at}.*$`),
    );
    expect(parseGroupDefinition(several("OR", ...ordinary)).filters).toHaveLength(200);
  });

  const cases: [string, Definition, number[]][] = [
    ["look anywhere in the value", is("Name", "MATCHES_REGEX", "oom \\d"), [1, 2, 3]],
    ["anchored", is("Name", "MATCHES_REGEX", "^Room 1\\d\\d$"), [1, 2]],
    ["ignore case unless asked", is("Name", "MATCHES_REGEX", "^room 2"), [3]],
    ["with case", is("Name", "MATCHES_REGEX", "^Room", exactly), [1, 2]],
    ["alternatives", is("DeviceProduct", "MATCHES_REGEX", "^(8845|7821)$"), [1, 2, 3, 4]],
    ["complement", is("deviceIdentifier", "MATCHES_REGEX", "^SEP", not), [5, 6, 7, 8]],
    ["match the empty value", is("Location", "MATCHES_REGEX", "^$"), [1, 2, 3, 4, 5, 7, 8]],
    ["nested repeats cost nothing", is("Name", "MATCHES_REGEX", "(o+)+$"), []],
  ];
  it.each(cases)("%s", (_, filter, expected) => expect(members(one(filter))).toEqual(expected));

  it("test the first 256 characters only", () => {
    const long = device(9, "SEP9", "phones", { Note: `${"x".repeat(256)}end` });
    const group = compileGroups(new Map([["g", parseGroupDefinition(one(is("Note", "MATCHES_REGEX", "end")))]])).get(
      "g",
    );
    expect(group?.contains(long)).toBe(false);
  });

  it("stay fast where a backtracking engine would hang", () => {
    const evil = device(9, "SEP9", "phones", { Note: `${"a".repeat(255)}!` });
    const group = compileGroups(
      new Map([["g", parseGroupDefinition(one(is("Note", "MATCHES_REGEX", "^(a+)+$")))]]),
    ).get("g");
    const before = process.cpuUsage();
    expect(group?.contains(evil)).toBe(false);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
  });
});

describe("filter types", () => {
  const cases: [string, Definition, number[]][] = [
    ["OR: any", several("OR", BIG, is("Name", "EQUALS", "Gym")), [1, 2, 5]],
    ["AND: all", several("AND", PHONE, NORTH), [1, 3]],
    ["AND with complement", several("AND", PHONE, { ...NORTH, ...not }), [2, 4]],
    ["ACCEPT: every device", several("ACCEPT"), [1, 2, 3, 4, 5, 6, 7, 8]],
    ["ACCEPT whatever the filters", several("ACCEPT", BIG), [1, 2, 3, 4, 5, 6, 7, 8]],
    ["REJECT: none", several("REJECT", PHONE), []],
    ["OR without filters: nobody", several("OR"), []],
    ["AND without filters: nobody", several("AND"), []],
    ["no type: OR", { filters: [BIG, is("Name", "EQUALS", "Gym")] }, [1, 2, 5]],
    ["an empty group: nobody", {}, []],
  ];
  it.each(cases)("%s", (_, definition, expected) => expect(members(definition)).toEqual(expected));
});

describe("logical expressions", () => {
  const three = [PHONE, NORTH, BIG];
  const cases: [string, string, number[]][] = [
    ["one number", "1", [1, 2, 3, 4]],
    ["AND", "1 AND 2", [1, 3]],
    ["OR", "2 OR 3", [1, 2, 3]],
    ["NOT", "NOT 1", [5, 6, 7, 8]],
    ["AND binds before OR", "3 OR 1 AND 2", [1, 2, 3]],
    ["parentheses", "(3 OR 1) AND 2", [1, 3]],
    ["the example of the description", "(1 AND 2) OR NOT 3", [1, 3, 4, 5, 6, 7, 8]],
    ["NOT of a group", "NOT (1 AND 2)", [2, 4, 5, 6, 7, 8]],
    ["NOT binds before AND", "NOT 2 AND 1", [2, 4]],
    ["double NOT", "NOT NOT 1", [1, 2, 3, 4]],
    ["nested NOT", "NOT (1 AND NOT (2 OR NOT 3))", [1, 3, 4, 5, 6, 7, 8]],
    ["any case", "(1 and 2) oR nOt 3", [1, 3, 4, 5, 6, 7, 8]],
    ["without spaces", "(1)AND(NOT(2))", [2, 4]],
    ["more spaces and lines", "  1\n\tAND   3 ", [1, 2]],
    ["a filter twice", "1 AND 1", [1, 2, 3, 4]],
    ["leading zeros", "01 AND 002", [1, 3]],
  ];
  it.each(cases)("%s: %s", (_, expression, expected) => {
    expect(members(logical(expression, ...three))).toEqual(expected);
  });
});

describe("base groups, additions, exclusions", () => {
  const phones = one(PHONE);
  const north = one(NORTH);
  const cases: [string, Definition, Record<string, Definition>, number[]][] = [
    ["filters over the base group", { ...one(BIG), baseDeviceGroupIds: ["north"] }, { north }, [1]],
    [
      "several bases add up",
      { filterType: "ACCEPT", baseDeviceGroupIds: ["north", "gym"] },
      { north, gym: one(is("Name", "EQUALS", "Gym")) },
      [1, 3, 5],
    ],
    ["bases without filters: all of theirs", { baseDeviceGroupIds: ["north"] }, { north }, [1, 3]],
    ["REJECT over a base: none", { filterType: "REJECT", baseDeviceGroupIds: ["north"] }, { north }, []],
    [
      "a base of a base",
      { filterType: "ACCEPT", baseDeviceGroupIds: ["b"] },
      { b: { ...north, baseDeviceGroupIds: ["a"] }, a: phones },
      [1, 3],
    ],
    [
      "a base's additions count",
      { filterType: "ACCEPT", baseDeviceGroupIds: ["b"] },
      { b: { ...north, additionIds: ["zone:gym"] } },
      [1, 3, 5],
    ],
    [
      "a base's exclusions count",
      { filterType: "ACCEPT", baseDeviceGroupIds: ["b"] },
      { b: { ...north, exclusionIds: ["SEP001122334401"] } },
      [3],
    ],
    ["an unknown base is empty", { filterType: "ACCEPT", baseDeviceGroupIds: ["gone"] }, {}, []],
    [
      "an addition from outside the base",
      { ...one(BIG), baseDeviceGroupIds: ["north"], additionIds: ["zone:gym"] },
      { north },
      [1, 5],
    ],
    ["additions alone", { additionIds: ["zone:gym", "SEP001122334404"] }, {}, [4, 5]],
    ["additions to REJECT", { filterType: "REJECT", additionIds: ["zone:gym"] }, {}, [5]],
    ["an addition by MAC, any case", { additionIds: ["aabbccddee06"] }, {}, [6]],
    ["the identifier of a device with a MAC adds nothing", { additionIds: ["speaker-6"] }, {}, []],
    ["an unknown addition", { additionIds: ["SEP999"] }, {}, []],
    ["exclusions", { ...phones, exclusionIds: ["SEP001122334402", "sep001122334404"] }, {}, [1, 3]],
    [
      "exclusion beats addition",
      { ...phones, additionIds: ["zone:gym"], exclusionIds: ["zone:gym"] },
      {},
      [1, 2, 3, 4],
    ],
    ["everybody but one", { filterType: "ACCEPT", exclusionIds: ["AABBCCDDEE07"] }, {}, [1, 2, 3, 4, 5, 6, 8]],
    [
      "a diamond of bases",
      { filterType: "ACCEPT", baseDeviceGroupIds: ["l", "r"] },
      { l: { ...one(BIG), baseDeviceGroupIds: ["top"] }, r: { ...north, baseDeviceGroupIds: ["top"] }, top: phones },
      [1, 2, 3],
    ],
    [
      "a stored circle adds nobody",
      { filterType: "ACCEPT", baseDeviceGroupIds: ["b"] },
      { b: { filterType: "ACCEPT", baseDeviceGroupIds: ["it"] } },
      [],
    ],
    [
      "a circle keeps what else is there",
      { filterType: "ACCEPT", baseDeviceGroupIds: ["b", "north"] },
      { b: { filterType: "ACCEPT", baseDeviceGroupIds: ["it"], additionIds: ["zone:gym"] }, north },
      [1, 3, 5],
    ],
  ];
  it.each(cases)("%s", (_, definition, others, expected) => expect(members(definition, others)).toEqual(expected));

  it("evaluates a ladder of diamonds in linear time", () => {
    const others: Record<string, Definition> = { level0a: phones, level0b: north };
    for (let level = 1; level <= 40; level++) {
      const baseDeviceGroupIds = [`level${level - 1}a`, `level${level - 1}b`];
      others[`level${level}a`] = { filterType: "ACCEPT", baseDeviceGroupIds };
      others[`level${level}b`] = { filterType: "ACCEPT", baseDeviceGroupIds };
    }
    expect(members({ filterType: "ACCEPT", baseDeviceGroupIds: ["level40a", "level40b"] }, others)).toEqual([
      1, 2, 3, 4,
    ]);
  });
});

describe("parseGroupDefinition rejects", () => {
  const long = "1 AND ".repeat(1_000);
  const deep = `${"(".repeat(20)}1${")".repeat(20)}`;
  const cases: [string, Definition, string, RegExp][] = [
    ["filters that are no list", { filters: { attribute: "Name" } }, "filters", /list of filters/],
    ["a filter that is no object", { filters: ["Name"] }, "filters", /Filter 1: Must be an object/],
    ["no attribute", one({ comparison: "EQUALS", value: "x" }), "filters", /Filter 1: The attribute/],
    [
      "an unknown comparison",
      one(is("Name", "LIKE", "x")),
      "filters",
      /Filter 1: The comparison must be one of BEGINS_WITH/,
    ],
    [
      "the second filter is named",
      several("OR", BIG, is("Name", "EQUALS", 7 as unknown as string)),
      "filters",
      /Filter 2: The value/,
    ],
    [
      "a complement that is a number",
      one(is("Name", "EQUALS", "x", { complement: 1 })),
      "filters",
      /complement must be true or false/,
    ],
    ["201 filters", several("OR", ...Array.from({ length: 201 }, () => BIG)), "filters", /at most 200/],
    ["a pattern of 201 characters", one(is("Name", "MATCHES_REGEX", "a".repeat(201))), "filters", /200 characters/],
    ["a back-reference", one(is("Name", "MATCHES_REGEX", "(a)\\1")), "filters", /Invalid pattern/],
    ["look-ahead", one(is("Name", "MATCHES_REGEX", "a(?=b)")), "filters", /Invalid pattern/],
    ["look-behind", one(is("Name", "MATCHES_REGEX", "(?<=a)b")), "filters", /Invalid pattern/],
    ["an open parenthesis in a pattern", one(is("Name", "MATCHES_REGEX", "(a")), "filters", /Invalid pattern/],
    ["an unknown filter type", { filterType: "XOR" }, "filterType", /Must be one of OR, AND/],
    ["an empty expression", logical("", BIG), "logicalExpression", /empty/],
    ["no expression", { filterType: "LOGICAL_EXPRESSION", filters: [BIG] }, "logicalExpression", /empty/],
    ["a number of no filter", logical("1 AND 2", BIG), "logicalExpression", /between 1 and 1; found 2 at position 7/],
    [
      "a number of no filter, from 0",
      logical("0 AND 1", BIG),
      "logicalExpression",
      /between 0 and 0.*found 1 at position 7/,
    ],
    ["numbers without filters", logical("1"), "logicalExpression", /There are no filters/],
    ["two numbers in a row", logical("1 1", BIG), "logicalExpression", /Expected AND or OR at position 3, found "1"/],
    ["an operator too many", logical("1 AND OR 1", BIG), "logicalExpression", /at position 7, found "OR"/],
    ["an end too early", logical("1 AND", BIG), "logicalExpression", /end of the text/],
    ["a parenthesis not closed", logical("(1 AND 1", BIG), "logicalExpression", /\( at position 1 is not closed/],
    ["a parenthesis not opened", logical("1)", BIG), "logicalExpression", /\) at position 2 has no matching/],
    ["an empty pair", logical("()", BIG), "logicalExpression", /at position 2, found "\)"/],
    ["other words", logical("1 XOR 1", BIG), "logicalExpression", /"XOR" at position 3/],
    ["other signs", logical("1 && 1", BIG), "logicalExpression", /"&" at position 3/],
    ["a negative number", logical("-1", BIG), "logicalExpression", /"-" at position 1/],
    ["more than 4096 characters", logical(`${long}1`, BIG), "logicalExpression", /4096/],
    ["nested deeper than 20 levels", logical(deep, BIG), "logicalExpression", /20 levels/],
    ["20 NOTs", logical(`${"NOT ".repeat(20)}1`, BIG), "logicalExpression", /20 levels/],
    ["additions that are no texts", { additionIds: [7] }, "additionIds", /list of strings/],
    ["an exclusion that is no list", { exclusionIds: "SEP1" }, "exclusionIds", /list of strings/],
  ];
  it.each(cases)("%s", (_, definition, field, message) => {
    let fault: unknown;
    try {
      parseGroupDefinition(definition);
    } catch (error) {
      fault = error;
    }
    expect(fault).toMatchObject({ type: "invalid-value", faults: [{ field, type: "invalid-value" }] });
    expect((fault as Error).message).toMatch(message);
  });

  it("accepts 19 levels", () => {
    expect(members(logical(`${"(".repeat(19)}1${")".repeat(19)}`, BIG))).toEqual([1, 2]);
  });
});

describe("the numbers of a logical expression", () => {
  const filters = [PHONE, NORTH, BIG];
  it.each([
    ["1 AND 2", [1, 3]],
    ["0 AND 1", [1, 3]],
    ["(1 AND 2) OR NOT 1", [1, 3, 5, 6, 7, 8]],
    ["(0 AND 1) OR NOT 0", [1, 3, 5, 6, 7, 8]],
    ["2", [1, 3]],
    ["2 OR 0", [1, 2, 3, 4]],
    ["00 and 2", [1, 2]],
    ["1 AND 3", [1, 2]],
    ["NOT 0", [5, 6, 7, 8]],
  ] as const)("count from 0 if there is one, else from 1: %s", (expression, found) => {
    expect(members(logical(expression, ...filters))).toEqual(found);
  });

  it.each([
    ["0 AND 3", "between 0 and 2"],
    ["4", "between 1 and 3"],
    ["0 OR 1 OR 2 OR 3", "between 0 and 2"],
  ])("are refused out of range: %s", (expression, message) => {
    expect(() => parseGroupDefinition(logical(expression, ...filters))).toThrow(message);
  });

  it("are refused where there is no filter", () => {
    for (const expression of ["0", "1"])
      expect(() => parseGroupDefinition(logical(expression))).toThrow("There are no filters to refer to");
  });
});
