import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BroadcastHarness, startBroadcastHarness } from "../support/broadcast-harness.ts";
import { runCarillon } from "../support/carillon-process.ts";
import { eventually } from "../support/timeouts.ts";

interface Emergency {
  id: string;
  kind: string;
  name: string;
  state: string;
  problems: string[];
  speakers: number;
  phones: number;
  people: number;
  usual: number;
  byLocation: { name: string; phones: number }[];
  testedAt: string | null;
}

const PHONES = 3;

describe("emergencies", () => {
  let scene: BroadcastHarness;
  let group: string;
  let lockdown: string;

  beforeAll(async () => {
    scene = await startBroadcastHarness({ phones: PHONES, zones: 1 }, 100);
    const [found] = (await scene.api().get<{ data: { id: string }[] }>("/device-groups")).data;
    group = found?.id ?? "";
    const template = { name: "Lockdown", subject: "Lock the doors", priority: "critical", deviceGroupIds: [group] };
    lockdown = String((await scene.api().post("/message-templates", template)).id);
  });
  afterAll(() => scene?.end());

  const one = async (id: string): Promise<Emergency | undefined> =>
    (await scene.api().get<{ emergencies: Emergency[] }>("/emergencies")).emergencies.find((each) => each.id === id);
  const until = async (id: string, isSo: (found: Emergency) => boolean): Promise<Emergency> => {
    let found: Emergency | undefined;
    await eventually(async () => {
      found = await one(id);
      expect(found && isSo(found)).toBe(true);
    });
    return found as unknown as Emergency;
  };
  const carillon = (...args: string[]) => runCarillon([...args, "--url", scene.url()], { CARILLON_TOKEN: scene.token });

  it("say whom they would reach now", async () => {
    const ready = await until(lockdown, ({ phones }) => phones === PHONES);
    expect(ready).toMatchObject({ kind: "template", name: "Lockdown", state: "ready", speakers: 1, people: 0 });
    expect(ready).toMatchObject({ problems: [], testedAt: null, usual: PHONES + 1 });
    const { code, stdout } = await carillon("emergencies");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/Lockdown +template +ready +1 +3 +0 +0 +never/)]);
  });

  it("are critical everywhere while they reach no one, until they are restored", async () => {
    await scene.api().put(`/message-templates/${lockdown}`, { deviceGroupIds: [] });
    const empty = await until(lockdown, ({ state }) => state === "unreachable");
    expect(empty).toMatchObject({ phones: 0, speakers: 0, usual: PHONES + 1 });
    expect(empty.problems[0]).toBe("It reaches no device and no person.");
    expect((await fetch(`${scene.url()}/health`)).status).toBe(503);
    const { code, stdout } = await carillon("emergencies");
    expect([code, stdout]).toEqual([1, expect.stringContaining("Lockdown: It reaches no device and no person.")]);
    await scene.api().put(`/message-templates/${lockdown}`, { deviceGroupIds: [group] });
    await until(lockdown, ({ state }) => state === "ready");
    expect((await carillon("emergencies")).code).toBe(0);
  });

  it("are degraded while they reach fewer than usual, or no device in a building", async () => {
    const api = scene.api();
    const site = String((await api.post("/sites", { name: "School" })).id);
    const rooms = async (name: string): Promise<string> => {
      const building = String((await api.post(`/sites/${site}/buildings`, { name })).id);
      const floor = await api.post(`/sites/${site}/buildings/${building}/floors`, { name: "Ground" });
      const zones = `/sites/${site}/buildings/${building}/floors/${floor.id}/zones`;
      return String((await api.post(zones, { name: "Room 1" })).id);
    };
    const [main] = [await rooms("Main"), await rooms("Gym")];
    const devices = (
      await api.get<{ data: { id: string; endpointId: string; extensionId: string; type: string }[] }>("/devices")
    ).data;
    for (const { id, extensionId, endpointId, type } of devices) {
      if (type !== "phones") continue;
      await api.put(`/extensions/${extensionId}/endpoints/${endpointId}/devices/${id}`, { zoneId: main });
    }
    // They are looked at while the phones are moved, too.
    const parted = await until(
      lockdown,
      ({ state, byLocation }) => state === "reduced" && byLocation.some(({ phones }) => phones === PHONES),
    );
    expect(parted.problems).toEqual(["It reaches no device in School › Gym."]);
    expect(parted.byLocation).toEqual([expect.objectContaining({ name: "School › Main", phones: PHONES })]);
    const gone = devices.filter(({ type }) => type === "phones").slice(1);
    for (const { id, extensionId, endpointId } of gone)
      await api.put(`/extensions/${extensionId}/endpoints/${endpointId}/devices/${id}`, { defunct: true });
    const fewer = await until(lockdown, ({ phones }) => phones === 1);
    expect(fewer.problems[0]).toMatch(
      /^It reaches 2 devices and people; within the last seven days there were up to 4/,
    );
  });

  it("count a drill as a test, and scenarios, inputs and alarm actions", async () => {
    const api = scene.api();
    await api.post("/notifications", { messageTemplateId: lockdown, drill: true });
    await until(lockdown, ({ testedAt }) => testedAt !== null);
    const scenario = await api.post("/scenarios", {
      ...{ name: "Intruder", backgroundColor: "#aa0000", type: "panic-button" },
      messages: [{ name: "First", messageTemplateId: lockdown }],
    });
    const input = await api.post("/m2m-inputs", { name: "Button", source: "gpio-1", messageTemplateId: lockdown });
    expect(await until(String(scenario.id), () => true)).toMatchObject({ kind: "scenario", phones: 1 });
    expect(await until(String(input.id), () => true)).toMatchObject({ kind: "input", phones: 1 });
  });

  it("name the sites for which a scenario would reach no one", async () => {
    const api = scene.api();
    const role = await api.post("/site-roles", { name: "Front office" });
    const [here, there] = [await api.post("/sites", { name: "North" }), await api.post("/sites", { name: "South" })];
    const user = await api.post("/users", { name: "Secretary", email: "secretary@example.org" });
    await api.post(`/sites/${here.id}/recipients`, { siteRoleId: role.id, userIds: [user.id] });
    const template = await api.post("/message-templates", { name: "Visitor", subject: "Visitor at the door" });
    const { id } = await api.post("/scenarios", {
      ...{ name: "Visitor", backgroundColor: "#0000aa", type: "panic-button" },
      ...{ locationEnabled: true, defaultSiteId: here.id },
      messages: [{ name: "First", messageTemplateId: template.id, siteRoleIds: [role.id] }],
    });
    const found = await until(String(id), ({ people, problems }) => people === 1 && problems.length > 0);
    expect(found.state).toBe("reduced");
    expect(found.problems).toContain("Started for South, it reaches no one.");
    expect(found.problems.join()).not.toContain("North");
    await api.post(`/sites/${there.id}/recipients`, { siteRoleId: role.id, userIds: [user.id] });
    await until(String(id), ({ problems }) => !problems.join().includes("South"));
  });
});
