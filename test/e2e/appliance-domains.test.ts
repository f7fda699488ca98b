import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pollUntil } from "../support/cuttable-proxy.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

let hub: TestDaemon;
let site: TestDaemon;
const ids: Record<string, string> = {};

async function make(at: TestDaemon, path: string, body: object): Promise<string> {
  const made = await at.call<{ id: string }>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

const namesOf = async (at: TestDaemon, path: string): Promise<string[]> =>
  (await at.call<{ data: { name: string }[] }>("GET", `${path}?limit=100`)).body.data
    .flatMap(({ name }) => (/^(List|Person|Made)/.test(name) ? [name] : []))
    .sort();

/** Waits until the lists of the appliance hold exactly these. */
const untilItHas = (path: string, names: string[]): Promise<string[]> =>
  pollUntil(
    () => namesOf(site, path),
    (found) => JSON.stringify(found) === JSON.stringify(names),
  );

/** Binds the appliance and waits until it is connected again with the rows of its domains. */
async function bind(domainIds: string[] | null): Promise<void> {
  const { status } = await hub.call("PUT", `/link/appliances/${site.first.endpointId}`, { domainIds });
  expect(status).toBe(204);
}

beforeAll(async () => {
  hub = await startTestDaemon({ isHub: true });
  for (const name of ["North", "South"]) {
    const domain = await make(hub, "/domains", { name });
    const at = `?domain=${domain}`;
    const person = { name: `Person of ${name}`, email: `${name.toLowerCase()}@example.org` };
    ids[name] = domain;
    ids[`person ${name}`] = await make(hub, `/users${at}`, person);
    ids[`list ${name}`] = await make(hub, `/distribution-lists${at}`, { name: `List of ${name}` });
    await make(hub, `/distribution-lists/${ids[`list ${name}`]}/user-subscriptions${at}`, {
      userId: ids[`person ${name}`],
    });
  }
  await make(hub, "/distribution-lists", { name: "List of all" });
  const alone = await startTestDaemon();
  const { body } = await hub.call<{ code: string }>("POST", "/link/codes", { domainIds: [ids.North] });
  await alone.cloudLink.site?.enrol({ hub: hub.url, code: body.code, mode: "join", authority: null });
  await alone.stop();
  site = await startTestDaemon({ after: alone });
}, 120_000);
afterAll(async () => {
  await site?.stop();
  await hub?.stop();
});

const NORTH = ["List of North", "List of all"];
const BOTH = ["List of North", "List of South", "List of all"];

describe("an appliance that is bound to a domain", () => {
  it("is never sent the rows of other domains", async () => {
    expect(await untilItHas("/distribution-lists", NORTH)).toEqual(NORTH);
    expect(await namesOf(site, "/users")).toEqual(expect.arrayContaining(["Person of North"]));
    expect(await namesOf(site, "/users")).not.toContain("Person of South");
    expect((await site.call("GET", `/users/${ids["person South"]}`)).status).toBe(404);
  });

  it("gets a row that is moved to its domain with all its parts, and gives it up when it leaves", async () => {
    const [list, north, south] = [ids["list South"], ids.North, ids.South];
    const isMember = async (): Promise<number> =>
      (await site.call("GET", `/distribution-lists/${list}/user-subscriptions`)).status;
    const moved = async (to: string | undefined, from: string | undefined): Promise<void> => {
      for (const path of [`/distribution-lists/${list}`, `/users/${ids["person South"]}`]) {
        expect((await hub.call("POST", `${path}/domains`, { id: to })).status).toBeLessThan(300);
        expect((await hub.call("DELETE", `${path}/domains/${from}`)).status).toBeLessThan(300);
      }
    };
    await moved(north, south);
    expect(await untilItHas("/distribution-lists", BOTH)).toEqual(BOTH);
    expect(await pollUntil(isMember, (status) => status === 200)).toBe(200);
    await moved(south, north);
    expect(await untilItHas("/distribution-lists", NORTH)).toEqual(NORTH);
    expect(await isMember()).toBe(404);
  });

  it("sends its own changes as before", async () => {
    const id = await make(site, `/distribution-lists?domain=${ids.North}`, { name: "Made at the school" });
    await pollUntil(
      async () => (await hub.call("GET", `/distribution-lists/${id}`)).status,
      (status) => status === 200,
    );
    expect((await site.call("DELETE", `/distribution-lists/${id}`)).status).toBe(200);
    await pollUntil(
      async () => (await hub.call("GET", `/distribution-lists/${id}`)).status,
      (status) => status === 404,
    );
  });

  it("gets everything once it is bound to the whole organisation, and loses it again", async () => {
    await bind(null);
    expect(await untilItHas("/distribution-lists", BOTH)).toEqual(BOTH);
    await bind([String(ids.South)]);
    const south = ["List of South", "List of all"];
    expect(await untilItHas("/distribution-lists", south)).toEqual(south);
  });

  it("gets a domain that is made below its own", async () => {
    const below = await make(hub, `/domains?domain=${ids.South}`, { name: "Primary", parentId: ids.South });
    await make(hub, `/distribution-lists?domain=${below}`, { name: "List of pupils" });
    const all = ["List of South", "List of all", "List of pupils"];
    expect(await untilItHas("/distribution-lists", all)).toEqual(all);
  });
});
