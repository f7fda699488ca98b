import { describe, expect, test } from "vitest";
import { parseAttributeSelection } from "../../../src/scim/attribute-selection.ts";
import { GROUP_RESOURCE_TYPE, parseDocument, USER_RESOURCE_TYPE } from "../../../src/scim/document.ts";
import { compileScimFilter, findIndexKey } from "../../../src/scim/filter-evaluator.ts";
import { parseScimFilter } from "../../../src/scim/filter-parser.ts";
import { extractMemberOperations, parseMemberIds } from "../../../src/scim/member-patch.ts";
import { applyPatch, parsePatchOperations } from "../../../src/scim/patch.ts";
import { ENTERPRISE_SCHEMA_URN, GROUP_SCHEMA_URN, USER_SCHEMA_URN } from "../../../src/scim/schemas.ts";
import { ScimRequestError } from "../../../src/scim/scim-error.ts";

const BJENSEN = parseDocument(USER_RESOURCE_TYPE, {
  schemas: [USER_SCHEMA_URN],
  userName: "bjensen",
  externalId: "701984",
  name: { formatted: "Ms. Barbara J Jensen, III", familyName: "Jensen", givenName: "Barbara" },
  title: "Tour Guide",
  userType: "Employee",
  active: "True",
  emails: [
    { value: "bjensen@example.com", type: "work", primary: true },
    { value: "babs@jensen.org", type: "home" },
  ],
  [ENTERPRISE_SCHEMA_URN]: { department: "Tour Operations", manager: "26118915-6090-4610-87e4-49d8ca9f808d" },
});

function admits(filter: string): boolean {
  const pks = new Set([7]);
  const candidate = {
    pk: 7,
    document: { id: "a-b", ...BJENSEN, meta: { lastModified: "2011-05-13T04:42:34.000Z" } },
  };
  return compileScimFilter(USER_RESOURCE_TYPE, parseScimFilter(filter), (id) => (id === "g1" ? pks : new Set()))(
    candidate,
  );
}

function refusal(run: () => unknown): string | null {
  try {
    run();
    return null;
  } catch (error) {
    return error instanceof ScimRequestError ? error.error : String(error);
  }
}

function patched(operations: readonly object[], document = BJENSEN) {
  return applyPatch(USER_RESOURCE_TYPE, document, parsePatchOperations({ Operations: operations }));
}

describe("filters", () => {
  // RFC 7644, figure 2, with what does not concern users of this server left out.
  test.each([
    ['userName eq "bjensen"', true],
    ['userName Eq "BJENSEN"', true],
    ['externalId eq "701984"', true],
    ['name.familyName co "ens"', true],
    ['userName sw "J"', false],
    [`${USER_SCHEMA_URN}:userName sw "b"`, true],
    ["title pr", true],
    ["nickName pr", false],
    ['meta.lastModified gt "2011-05-13T04:42:33Z"', true],
    ['meta.lastModified ge "2011-05-13T06:42:34+02:00"', true],
    ['meta.lastModified lt "2011-05-13T04:42:34Z"', false],
    ['title pr and userType eq "Employee"', true],
    ['title pr or userType eq "Intern"', true],
    ['userType eq "Employee" and (emails co "example.com" or emails.value co "example.org")', true],
    ['userType ne "Employee" and not (emails co "example.com" or emails.value co "example.org")', false],
    ['userType eq "Employee" and emails[type eq "work" and value co "@example.com"]', true],
    ['emails[type eq "work" and value co "@jensen.org"] or addresses[type eq "work"]', false],
    ['emails[type eq "home"].value ew "ORG"', true],
    ["active eq true", true],
    ['active eq "False"', false],
    ["nickName eq null", true],
    ["title ne null", true],
    [`${ENTERPRISE_SCHEMA_URN}:department eq "tour operations"`, true],
    ['groups eq "g1"', true],
    ['groups[value eq "g2"]', false],
    ['nickName ne "x"', true],
    ['displayName eq "a\\"b"', false],
  ])("%s: %s", (filter, expected) => expect(admits(filter)).toBe(expected));

  test.each([
    "",
    "userName",
    "userName eq",
    "userName is 1",
    'userName eq "x',
    'userName eq "x" foo',
    'nothing eq "x"',
    "userName eq 'x'",
    'emails[type eq "work"',
    "(userName pr",
    `${"(".repeat(50)}userName pr${")".repeat(50)}`,
    'meta.created gt "yesterday"',
    'userName[value eq "x"]',
    'groups co "x"',
    `userName eq "${"x".repeat(5_000)}"`,
  ])("refuses %s", (filter) => expect(refusal(() => admits(filter))).toBe("invalidFilter"));

  test("uses an index for equality filters", () => {
    const key = (filter: string) => findIndexKey(USER_RESOURCE_TYPE, parseScimFilter(filter))?.name ?? null;
    expect(key('active eq true and userName eq "x"')).toBe("userName");
    expect(key('userName eq "x" or externalId eq "y"')).toBeNull();
    expect(key('not (userName eq "x")')).toBeNull();
  });
});

describe("patches", () => {
  test("accepts operations of common directories", () => {
    const after = patched([
      { op: "Replace", path: "active", value: "False" },
      { op: "Add", path: 'emails[type eq "other"].value', value: "b@example.net" },
      { op: "Replace", path: 'phoneNumbers[type eq "mobile"].value', value: "+49 30 1" },
      {
        op: "replace",
        value: { "name.givenName": "Babs", id: "ignored", [`${ENTERPRISE_SCHEMA_URN}:costCenter`]: 42 },
      },
      { op: "Add", path: `${ENTERPRISE_SCHEMA_URN}:manager`, value: "2819c223-7f76-453a-919d-413861904646" },
      { op: "Add", path: 'roles[primary eq "True"].value', value: "ignored" },
      { op: "Remove", path: "title" },
    ]);
    expect(after).toEqual({
      ...BJENSEN,
      title: undefined,
      active: false,
      name: { ...(BJENSEN.name as object), givenName: "Babs" },
      emails: [...(BJENSEN.emails as object[]), { type: "other", value: "b@example.net" }],
      phoneNumbers: [{ type: "mobile", value: "+49 30 1" }],
      [ENTERPRISE_SCHEMA_URN]: {
        department: "Tour Operations",
        costCenter: "42",
        manager: { value: "2819c223-7f76-453a-919d-413861904646" },
      },
    });
    expect(BJENSEN.active).toBe(true);
  });

  test("patches multi-valued attributes", () => {
    const emails = (operations: readonly object[]) => patched(operations).emails;
    const [work, home] = BJENSEN.emails as object[];
    expect(emails([{ op: "remove", path: 'emails[type eq "work" and value ew "example.com"]' }])).toEqual([home]);
    expect(emails([{ op: "replace", path: 'emails[type eq "home"].primary', value: true }])).toEqual([
      { ...work, primary: false },
      { ...home, primary: true },
    ]);
    expect(emails([{ op: "add", path: "emails", value: [home] }])).toEqual([work, home]);
    expect(emails([{ op: "replace", path: "emails", value: { value: "n@x.org" } }])).toEqual([{ value: "n@x.org" }]);
    expect(emails([{ op: "remove", path: "emails", value: [{ value: "babs@jensen.org" }] }])).toEqual([work]);
    expect(emails([{ op: "remove", path: "emails" }])).toBeUndefined();
    expect(emails([{ op: "replace", path: 'emails[type eq "home"]', value: { value: "n@x.org" } }])).toEqual([
      work,
      { value: "n@x.org" },
    ]);
  });

  test.each([
    [{ op: "move", path: "title" }, "invalidSyntax"],
    [{ op: "replace", path: "tittle", value: "x" }, "invalidPath"],
    [{ op: "replace", path: "id", value: "x" }, "mutability"],
    [{ op: "replace", path: "groups", value: [] }, "mutability"],
    [{ op: "remove" }, "noTarget"],
    [{ op: "replace", path: 'emails[type sw "x"].value', value: "x" }, "noTarget"],
    [{ op: "replace", path: "active", value: "perhaps" }, "invalidValue"],
    [{ op: "add", value: "x" }, "invalidValue"],
    [{ op: "replace", path: "name", value: "x" }, "invalidValue"],
    [{ op: "replace", path: 'emails[type eq "work"', value: "x" }, "invalidPath"],
    [{ op: "replace", path: "title", value: "x".repeat(3_000) }, "invalidValue"],
  ])("refuses %j: %s", (operation, error) => expect(refusal(() => patched([operation]))).toBe(error));

  test("stays within the document", () => {
    patched([{ op: "add", value: JSON.parse('{"__proto__": {"active": false}, "constructor": {"x": 1}}') }]);
    expect(refusal(() => patched([{ op: "add", path: "__proto__.polluted", value: "x" }]))).toBe("invalidPath");
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

const [A, B, C] = ["a", "b", "c"].map((sign) => `0190b7c2-7f3a-7000-8000-00000000000${sign}`) as [
  string,
  string,
  string,
];

test("applies member operations in order", () => {
  const plan = (...operations: object[]) => {
    const { plan: planned, others } = extractMemberOperations(parsePatchOperations({ Operations: operations }));
    return {
      joins: [...planned.added],
      leaves: [...planned.removed],
      isWhole: planned.replacesAll,
      others: others.length,
    };
  };
  const none = { joins: [], leaves: [], isWhole: false, others: 0 };
  const member = (value: string) => ({ value });
  expect(plan({ op: "Add", path: "members", value: [member(A), member(A.toUpperCase())] })).toEqual({
    ...none,
    joins: [A],
  });
  expect(plan({ op: "remove", path: `members[value eq "${A}" or value eq "${B}"]` })).toEqual({
    ...none,
    leaves: [A, B],
  });
  expect(plan({ op: "Remove", path: "members", value: [member(C)] })).toEqual({ ...none, leaves: [C] });
  expect(plan({ op: "remove", path: `${GROUP_SCHEMA_URN}:members` })).toEqual({ ...none, isWhole: true });
  expect(plan({ op: "replace", value: { id: C, displayName: "X", members: [member(B)] } })).toEqual({
    ...none,
    joins: [B],
    isWhole: true,
    others: 1,
  });
  expect(
    plan({ op: "add", path: "members", value: member(A) }, { op: "remove", path: `members[value eq "${A}"]` }),
  ).toEqual({ ...none, leaves: [A] });
  expect(refusal(() => parseMemberIds([{ value: "bob" }]))).toBe("invalidValue");
  expect(refusal(() => plan({ op: "remove", path: 'members[display co "x"]' }))).toBe("invalidFilter");
});

test("selects the requested attributes", () => {
  const of = (attributes: string | null, excluded: string | null) =>
    parseAttributeSelection(USER_RESOURCE_TYPE, attributes, excluded).apply({
      id: "1",
      schemas: [USER_SCHEMA_URN],
      ...BJENSEN,
    });
  expect(of("userName,name.givenName,name.familyName,emails.value,nothing", null)).toEqual({
    id: "1",
    schemas: [USER_SCHEMA_URN],
    userName: "bjensen",
    name: { givenName: "Barbara", familyName: "Jensen" },
    emails: [{ value: "bjensen@example.com" }, { value: "babs@jensen.org" }],
  });
  const without = of(null, `id,emails,name.formatted,${ENTERPRISE_SCHEMA_URN}:manager`);
  expect(without).toMatchObject({ id: "1", name: { familyName: "Jensen" } });
  expect(Object.keys(without)).not.toContain("emails");
  expect(without[ENTERPRISE_SCHEMA_URN]).toEqual({ department: "Tour Operations" });
  expect(parseAttributeSelection(GROUP_RESOURCE_TYPE, null, "members").has("members")).toBe(false);
});
