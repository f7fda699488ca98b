import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

/** How long anything may take on a machine that does much else, too. */
const LONGEST_MS = 20_000;
const LOOK_MS = 25;

let hub: TestDaemon;
let site: TestDaemon;
let line: Line;

/** The line between the two, which can be cut. */
interface Line {
  url: string;
  cut(): void;
  heal(): void;
  end(): void;
}

async function lineTo(url: string): Promise<Line> {
  const { hostname: host, port } = new URL(url);
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((socket) => {
    if (isCut) {
      socket.destroy();
      return;
    }
    const onwards = connect(Number(port), host);
    for (const [one, other] of [
      [socket, onwards],
      [onwards, socket],
    ] as const) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    heal() {
      isCut = false;
    },
    end() {
      cut();
      server.close();
    },
  };
}

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
  line = await lineTo(hub.url);
  const alone = await startTestDaemon();
  await make(alone, "/sites", { name: "Annex" });
  const { code } = (await hub.linking.hub?.offer(null)) ?? { code: "" };
  await alone.linking.site?.enrol({ hub: line.url, code, mode: "adopt", authority: null });
  await alone.stop();
  site = await startTestDaemon({ after: alone });
  await until(
    async () => site.linking.report().link?.state,
    (state) => state === "connected",
  );
}, 120_000);
afterAll(async () => {
  await site?.stop();
  line?.end();
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
    expect([(await names(hub, "/sites")).length, site.linking.report().parked]).toEqual([1, 0]);
  });

  it("sounds what is sent in the cloud on its own devices, and the cloud sees what became of each", async () => {
    const at = `/extensions/${site.first.extensionId}/endpoints/${site.first.endpointId}/devices`;
    const attributes = { Group: "239.192.99.7", Port: "20480", Codec: "PCMU", TTL: "1" };
    const zone = { type: "speakers", deviceIdentifier: "zone:canteen", description: "Canteen", attributes };
    const device = await make(site, at, zone);
    await until(
      async () => (await hub.call("GET", `${at}/${device}`)).status,
      (status) => status === 200,
    );
    const message = { subject: "Lunch", alertTone: "chime", additionalDeviceIds: [device] };
    const sent = await make(hub, "/notifications", message);
    interface Delivery {
      level: string;
      reason: string | null;
      endedAt: string | null;
    }
    const lines = await until(
      async () => (await hub.call<{ data: Delivery[] }>("GET", `/notifications/${sent}/devices`)).body.data,
      (data) => data.length === 1 && data[0]?.endedAt !== null,
    );
    expect(lines.map(({ level, reason }) => [level, reason])).toEqual([["sent", null]]);
    const played = (await site.call<{ data: { subject: string }[] }>("GET", "/notifications")).body.data;
    expect(played.map(({ subject }) => subject)).toEqual(["Lunch"]);
    const lastLevel = async (): Promise<unknown> => (await hub.call("GET", `${at}/${device}`)).body.lastLevel;
    expect(await until(lastLevel, (found) => found !== null)).toBe("sent");
  });

  it("carries out orders that are given in the cloud, and says what became of them", async () => {
    const at = `/extensions/${site.first.extensionId}/endpoints/${site.first.endpointId}/activities`;
    const id = await make(hub, at, { type: "collect-logs" });
    const state = async (): Promise<unknown> => (await hub.call("GET", `${at}/${id}`)).body.state;
    expect(await until(state, (found) => found !== "pending")).toBe("success");
  });

  it("agrees with the cloud again after a time without it; where both changed one field the cloud's stays", async () => {
    const gym = await make(hub, "/sites", { name: "Gym", latitude: 51, longitude: 4 });
    await arrives(site, `/sites/${gym}`, "Gym");
    line.cut();
    await site.call("PUT", `/sites/${gym}`, { name: "Sports hall", latitude: 52 });
    const shed = await make(site, "/sites", { name: "Shed" });
    await hub.call("PUT", `/sites/${gym}`, { name: "Gymnasium" });
    const barn = await make(hub, "/sites", { name: "Barn" });
    line.heal();
    expect(await arrives(hub, `/sites/${shed}`, "Shed")).toBe("Shed");
    expect(await arrives(site, `/sites/${barn}`, "Barn")).toBe("Barn");
    expect(await arrives(site, `/sites/${gym}`, "Gymnasium")).toBe("Gymnasium");
    for (const at of [hub, site]) {
      expect((await at.call("GET", `/sites/${gym}`)).body).toMatchObject({ name: "Gymnasium", latitude: 52 });
    }
    expect(hub.linking.hub?.conflicts()).toMatchObject([{ type: "sites", id: gym, lost: ["name"] }]);
  });
});
