import { CallerError } from "../lib/errors.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { ApiClient, ApiPage } from "./api-client.ts";

/** A device as the API accepts it and as the simulator's ready line lists it. */
export interface DeviceRegistration {
  type: string;
  deviceIdentifier: string;
  description: string;
  attributes: Record<string, string>;
}

const CONCURRENCY = 16;

/** Registers the devices with the appliance; updates description and attributes of existing ones. */
export async function registerDevices(api: ApiClient, devices: readonly DeviceRegistration[]): Promise<void> {
  // A linked appliance also lists the endpoints of the others.
  const { endpointId } = await api.get<{ endpointId: string }>("/link");
  const path = `/extensions/${ONPREM_EXTENSION_ID}/endpoints/${endpointId}/devices`;
  const queue = [...devices];
  const worker = async (): Promise<void> => {
    for (let device = queue.shift(); device; device = queue.shift()) await registerDevice(api, path, device);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

async function registerDevice(api: ApiClient, path: string, device: DeviceRegistration): Promise<void> {
  try {
    await api.post(path, { ...device });
  } catch (error) {
    if (!(error instanceof CallerError) || error.type !== "conflict") throw error;
    const query = `deviceIdentifier=${encodeURIComponent(device.deviceIdentifier)}&limit=1`;
    const existing = await api.get<ApiPage<{ id: string }>>(`${path}?${query}`);
    if (!existing.data[0]) throw error;
    const { description, attributes } = device;
    await api.put(`${path}/${existing.data[0].id}`, { description, attributes });
  }
}
