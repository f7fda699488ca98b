import { expect, it } from "vitest";
import type { ApiClient } from "../../../src/api-client/api-client.ts";
import { registerDevices } from "../../../src/api-client/register-devices.ts";

it("registers devices at the appliance that answers, not at the first one of the list", async () => {
  const posted: string[] = [];
  const api = {
    get: async (path: string) =>
      path === "/link" ? { endpointId: "own" } : { data: [{ id: "other" }, { id: "own" }] },
    post: async (path: string) => void posted.push(path),
  } as unknown as ApiClient;
  await registerDevices(api, [{ type: "speakers", deviceIdentifier: "zone:1", description: "Hall", attributes: {} }]);
  expect(posted.map((path) => path.split("/").slice(4).join("/"))).toEqual(["own/devices"]);
});
