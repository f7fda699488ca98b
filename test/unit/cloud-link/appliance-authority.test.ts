import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApplianceAuthority } from "../../../src/cloud-link/appliance-authority.ts";
import { newId } from "../../../src/lib/ids.ts";
import deviceGroups from "../../../src/resources/devices/device-groups.ts";
import domains from "../../../src/resources/domains/domains.ts";
import distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import userDevices from "../../../src/resources/people/user-devices.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import users from "../../../src/resources/people/users.ts";
import buildings from "../../../src/resources/places/buildings.ts";
import sites from "../../../src/resources/places/sites.ts";
import userPermissions from "../../../src/resources/security/user-permissions.ts";
import type { AnyResource } from "../../../src/schema/resource.ts";
import type { RowBody, SiteChange } from "../../../src/sync/storage/transaction-program.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { type AccessFixture, openAccess } from "../permissions/access-fixture.ts";

const ENDPOINT = newId();
let fixture: AccessFixture;
let judge: (change: Omit<SiteChange, "endpoint">) => string | null;
let root: string;
let north: string;
let school: string;
let south: string;
beforeAll(async () => {
  fixture = await openAccess(makeTempDir());
  const { store, system, rootId, catalogue } = fixture;
  const authority = createApplianceAuthority(catalogue);
  judge = (change) => authority({ endpoint: ENDPOINT, ...change }, store);
  const make = async (name: string, parentId: string) => (await store.create(domains, { name, parentId }, system)).id;
  root = rootId;
  north = await make("North", root);
  [school, south] = [await make("School", north), await make("South", root)];
});
afterAll(() => fixture.close());

/** What is said of a change by an appliance of the whole organisation, and by one of the north. */
function judged({ name: type }: AnyResource, id: string, before: RowBody | null, after: RowBody | null): unknown[] {
  return [null, [north]].map(
    (domainIds) => judge({ domainIds, type, id, before, after })?.split(" ").slice(-3).join(" ") ?? "yes",
  );
}
const OUTSIDE = "of this appliance.";
const change = (body: RowBody, made: RowBody): RowBody => ({ ...body, ...made });

describe("accounts", () => {
  it("are changed in the cloud only if they belong to super users", async () => {
    const admin = fixture.store.get(users, fixture.adminId) as unknown as RowBody;
    for (const made of [
      { passwordHash: "x" },
      { lock: { start: null, end: null } },
      { providerKey: "x" },
      { email: "x@x.example" },
    ])
      expect(judged(users, fixture.adminId, admin, change(admin, made))).toEqual(Array(2).fill("in the cloud."));
    const { id } = await fixture.user("Glass");
    await fixture.store.write((tx) => void tx.run("UPDATE users SET break_glass = 1 WHERE id = ?", id));
    expect(judged(users, id, admin, change(admin, { passwordHash: "x" }))).toEqual(Array(2).fill("in the cloud."));
  });

  it("are changed by appliances of all domains in which they may act", async () => {
    const { store, system } = fixture;
    const made = async (name: string, domainId: string) => {
      const { id } = await fixture.user(name);
      await store.update(users, id, {}, system, { domainId });
      return id;
    };
    const lock = (id: string): unknown[] => {
      const row = store.get(users, id) as unknown as RowBody;
      return judged(users, id, row, change(row, { passwordHash: "x" }));
    };
    const [pupil, teacher, visitor] = [
      await made("Pupil", school),
      await made("Teacher", north),
      await made("Other", south),
    ];
    expect([pupil, teacher, visitor].map(lock)).toEqual([
      ["yes", "yes"],
      ["yes", "yes"],
      ["yes", OUTSIDE],
    ]);
    await store.create(userPermissions, { userId: pupil, verb: "get", spec: "/sites/*", domainId: south }, system);
    expect(lock(pupil)).toEqual(["yes", OUTSIDE]);
    const imported = { name: "New", source: "user-loader", domainId: south };
    expect(judged(users, newId(), null, imported)).toEqual(["yes", OUTSIDE]);
    expect(judged(users, newId(), null, { ...imported, domainId: school })).toEqual(["yes", "yes"]);
    const phone = (userId: string) => judged(userDevices, newId(), null, { userId, name: "Phone" });
    expect([phone(teacher), phone(visitor)]).toEqual([
      ["yes", "yes"],
      ["yes", OUTSIDE],
    ]);
  });

  it("get no tokens from appliances, which may end those of their users", async () => {
    const { id: userId } = await fixture.user("Tom");
    const token = { userId, name: "x", tokenHash: "x", kind: "permanent" };
    expect(judged(userTokens, newId(), null, token)).toEqual(Array(2).fill("valid only there."));
    expect(judged(userTokens, newId(), token, change(token, { expires: null }))).toEqual(
      Array(2).fill("valid only there."),
    );
    expect(judged(userTokens, newId(), token, null)).toEqual(["yes", OUTSIDE]);
  });
});

describe("configuration", () => {
  it("belongs to the appliance's domains before and after a change", () => {
    const site = (domainId: string, alsoIn: string[] | null = null): RowBody => ({ name: "Gym", domainId, alsoIn });
    expect(judged(sites, newId(), null, site(school))).toEqual(["yes", "yes"]);
    for (const domainId of [root, south])
      expect(judged(sites, newId(), null, site(domainId))).toEqual(["yes", OUTSIDE]);
    expect(judged(sites, newId(), site(south), site(north))).toEqual(["yes", OUTSIDE]);
    expect(judged(sites, newId(), site(north), site(south))).toEqual(["yes", OUTSIDE]);
    expect(judged(sites, newId(), site(north), site(north, [south]))).toEqual(["yes", OUTSIDE]);
    expect(judged(sites, newId(), site(south), null)).toEqual(["yes", OUTSIDE]);
    // A row of two domains may be changed in one, but not taken from the other.
    expect(judged(sites, newId(), site(north, [south]), change(site(north, [south]), { name: "Hall" }))).toEqual([
      "yes",
      "yes",
    ]);
    expect(judged(sites, newId(), site(north, [south]), site(north))).toEqual(["yes", OUTSIDE]);
  });

  it("follows the parent row", async () => {
    const { store, system } = fixture;
    const at = async (domainId: string) =>
      (await store.create(sites, { name: `Site ${domainId}` }, system, { domainId })).id;
    const [here, there] = [await at(school), await at(south)];
    const building = (siteId: string): RowBody => ({ name: "House", siteId });
    expect([here, there, newId()].map((id) => judged(buildings, newId(), null, building(id)))).toEqual([
      ["yes", "yes"],
      ["yes", OUTSIDE],
      ["yes", OUTSIDE],
    ]);
    expect(judged(buildings, newId(), building(there), building(here))).toEqual(["yes", OUTSIDE]);
  });

  it("does not reach rows of other domains, wherever it names them", async () => {
    const { store, system } = fixture;
    const listOf = async (domainId: string) =>
      (await store.create(distributionLists, { name: `List ${domainId}` }, system, { domainId })).id;
    const [above, here, there] = [await listOf(root), await listOf(school), await listOf(south)];
    const group = (named: object): RowBody => ({ name: "Group", domainId: north, ...named });
    const judgedWith = (named: object): unknown[] => judged(deviceGroups, newId(), null, group(named));
    expect([here, above].map((id) => judgedWith({ any: [{ type: "list", id }] }))).toEqual(
      Array(2).fill(["yes", "yes"]),
    );
    for (const named of [
      { any: there.toUpperCase() },
      { any: [{ id: there }] },
      { deep: { text: `x ${there} y` } },
      { any: south },
    ])
      expect(judgedWith(named)).toEqual(["yes", OUTSIDE]);
    // What it named already stays; the appliance may still change the rest.
    expect(judged(deviceGroups, newId(), group({ any: there }), group({ any: there, name: "Other" }))).toEqual([
      "yes",
      "yes",
    ]);
    const many = Array.from({ length: 2_001 }, () => newId());
    expect(judgedWith({ any: many })).toEqual(["yes", "than 2000 rows."]);
  });

  it("is changed organisation-wide only if it concerns the appliance", () => {
    const of = (type: string, id: string, before: RowBody | null, after: RowBody | null) =>
      judged({ name: type } as AnyResource, id, before, after);
    const appliance = { name: "Box" };
    expect(of("endpoints", ENDPOINT, appliance, { name: "New" })).toEqual(["yes", "yes"]);
    expect(of("endpoints", ENDPOINT, appliance, null)).toEqual(["yes", OUTSIDE]);
    expect(of("endpoints", newId(), appliance, { name: "New" })).toEqual(["yes", OUTSIDE]);
    expect(of("extensions", newId(), { name: "Mail" }, { name: "Mail", config: {} })).toEqual(["yes", OUTSIDE]);
    expect(of("unknown-to-this-release", newId(), null, {})).toEqual(["yes", "yes"]);
  });
});
