import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createContractClient } from "./contract-client.ts";

let daemon: TestDaemon;
const { call, create } = createContractClient(() => daemon);
beforeAll(async () => {
  const settings = 'network: {allowedTargets: ["127.0.0.0/8"]}\nbroadcasts: {secondPerson: true}';
  daemon = await startTestDaemon({ settings });
});
afterAll(() => daemon.stop());

/** The bytes of all that is played of a message; null where there is nothing. */
async function programmeOf(id: string): Promise<Uint8Array | null> {
  const headers = { authorization: `Bearer ${daemon.first.token}` };
  const path = `/api/v1/notifications/${id}/audio?form=programme`;
  const response = await fetch(daemon.url + path, { headers });
  return response.status === 404 ? null : new Uint8Array(await response.arrayBuffer());
}

it("plays the audio of a notification that waits for approval, before it is rendered", async () => {
  const group = await create("/device-groups", { name: "Halls", filterType: "ACCEPT" });
  const message = { subject: "Lockdown", alertTone: "klaxon", deviceGroupIds: [group.id] };
  const waiting = await create("/notifications", { ...message, priority: "critical" });
  expect(waiting.approval).toBe("waiting");
  const sound = await programmeOf(waiting.id);
  expect(new TextDecoder().decode(sound?.subarray(0, 4))).toBe("RIFF");
  expect(sound?.length).toBeGreaterThan(8_000);
  const { body } = await call("GET", `/notifications/${waiting.id}`);
  expect(body.approval).toBe("waiting");
  const silent = await create("/notifications", { ...message, alertTone: "silent", priority: "critical" });
  expect([silent.approval, await programmeOf(silent.id)]).toEqual(["waiting", null]);
});
