import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.stop());

it("reports that this appliance has no failover group, and that others are unreachable", async () => {
  const { extensionId, endpointId } = daemon.first;
  const at = `/extensions/${extensionId}/endpoints`;
  const own = await daemon.call("GET", `${at}/${endpointId}/failover-status`);
  expect(own.body).toEqual({
    endpointId,
    role: "standalone",
    state: "active",
    partnerEndpointId: null,
    lastHeartbeatAt: null,
    activationGroupIds: [],
    mode: "solo",
    term: 0,
    since: expect.stringMatching(/Z$/),
    peers: [],
  });
  const other = await daemon.call<{ id: string }>("POST", at, { name: "Elsewhere" });
  const far = await daemon.call("GET", `${at}/${other.body.id}/failover-status`);
  expect([far.body.state, far.body.since]).toEqual(["unreachable", null]);
  expect((await daemon.call("GET", `/extensions/${endpointId}/endpoints/${endpointId}/failover-status`)).status).toBe(
    404,
  );
  expect((await daemon.call("PUT", `${at}/${endpointId}/failover-status`, {})).status).toBe(405);
});

it("makes a device of an extension on its only appliance, and asks which one where there are several", async () => {
  const { extensionId, endpointId } = daemon.first;
  const at = `/extensions/${extensionId}`;
  const others = (await daemon.call<{ data: { id: string }[] }>("GET", `${at}/endpoints`)).body.data;
  for (const { id } of others) if (id !== endpointId) await daemon.call("DELETE", `${at}/endpoints/${id}`);
  const phone = { type: "phones", deviceIdentifier: "SEP001122334455", description: "Room 1" };
  const made = await daemon.call("POST", `${at}/devices`, phone);
  expect([made.status, made.body.endpointId, made.body.extensionId]).toEqual([200, endpointId, extensionId]);
  const changed = await daemon.call("PUT", `${at}/devices/${made.body.id}`, { description: "Room 2" });
  expect(changed.body.description).toBe("Room 2");
  expect((await daemon.call("DELETE", `${at}/devices/${made.body.id}`)).status).toBe(200);
  await daemon.call("POST", `${at}/endpoints`, { name: "Elsewhere" });
  const unclear = await daemon.call<{ errors: { field: string; type: string }[] }>("POST", `${at}/devices`, phone);
  expect(unclear.body.errors[0]).toMatchObject({ field: "endpointId", type: "required" });
});
