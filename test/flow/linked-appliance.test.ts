import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

/** How long anything may take on a machine that does much else, too. */
const LONGEST_MS = 20_000;
const LOOK_MS = 25;

let hub: TestDaemon;
let site: TestDaemon;

/** Looks again and again until the answer fits. */
async function until<T>(look: () => Promise<T>, fits: (found: T) => boolean): Promise<T> {
  for (let waited = 0; ; waited += LOOK_MS) {
    const found = await look();
    if (fits(found) || waited > LONGEST_MS) return found;
    await pause(LOOK_MS);
  }
}

async function make(at: TestDaemon, path: string, body: object): Promise<string> {
  const made = await at.call<{ id: string }>("POST", path, body);
  expect([path, made.status, made.body]).toEqual([path, 200, made.body]);
  return made.body.id;
}

const nameAt = async (at: TestDaemon, path: string): Promise<unknown> => (await at.call("GET", path)).body.name;

const arrives = (at: TestDaemon, path: string, name: string | undefined) =>
  until(
    () => nameAt(at, path),
    (found) => found === name,
  );

beforeAll(async () => {
  hub = await startTestDaemon({ isHub: true });
  const alone = await startTestDaemon();
  await make(alone, "/sites", { name: "Annex" });
  const { code } = (await hub.linking.hub?.offer(null)) ?? { code: "" };
  await alone.linking.site?.enrol({ hub: hub.url, code, mode: "adopt", authority: null });
  await alone.stop();
  site = await startTestDaemon({ after: alone });
  await until(
    async () => site.linking.report().link?.state,
    (state) => state === "connected",
  );
}, 120_000);
afterAll(async () => {
  await site?.stop();
  await hub?.stop();
});

describe("an appliance that is linked to a cloud", () => {
  it("gets what is made in the cloud, and what is changed at the appliance comes to the cloud", async () => {
    const group = await make(hub, "/device-groups", { name: "Canteen" });
    expect(await arrives(site, `/device-groups/${group}`, "Canteen")).toBe("Canteen");
    await site.call("PUT", `/device-groups/${group}`, { name: "Dining hall" });
    expect(await arrives(hub, `/device-groups/${group}`, "Dining hall")).toBe("Dining hall");
  });

  it("brought its own rows, under their ids, and shares domain and administrator with the cloud", async () => {
    const names = async (at: TestDaemon, path: string): Promise<string[]> =>
      (await at.call<{ data: { id: string; name: string }[] }>("GET", path)).body.data
        .map(({ id, name }) => `${id} ${name}`)
        .sort();
    for (const path of ["/sites", "/domains", "/users", "/security-groups", "/notification-profiles"]) {
      expect([path, await names(hub, path)]).toEqual([path, await names(site, path)]);
    }
    expect((await names(hub, "/sites")).length).toBe(1);
  });
});
