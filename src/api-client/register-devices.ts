import { CallerError, UpstreamError } from "../lib/errors.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { ApiClient, ApiPage } from "./api-client.ts";

/** A device as the campus's ready line gives it: what the API takes. */
export interface DeviceRegistration {
  type: string;
  deviceIdentifier: string;
  description: string;
  attributes: Record<string, string>;
}

const CONCURRENCY = 16;

/** Makes the devices known to the appliance behind `api`; one that is known already gets the new description and attributes. */
export async function registerDevices(api: ApiClient, devices: readonly DeviceRegistration[]): Promise<void> {
  const endpoints = await api.get<ApiPage<{ id: string }>>(`/extensions/${ONPREM_EXTENSION_ID}/endpoints?limit=1`);
  const endpoint = endpoints.data[0];
  if (!endpoint) throw new UpstreamError("upstream", "The appliance has no endpoint to register devices at.");
  const path = `/extensions/${ONPREM_EXTENSION_ID}/endpoints/${endpoint.id}/devices`;
  const waiting = [...devices];
  const work = async (): Promise<void> => {
    for (let device = waiting.shift(); device; device = waiting.shift()) await registerDevice(api, path, device);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

async function registerDevice(api: ApiClient, path: string, device: DeviceRegistration): Promise<void> {
  try {
    await api.post(path, { ...device });
  } catch (error) {
    if (!(error instanceof CallerError) || error.type !== "conflict") throw error;
    const query = `deviceIdentifier=${encodeURIComponent(device.deviceIdentifier)}&limit=1`;
    const known = await api.get<ApiPage<{ id: string }>>(`${path}?${query}`);
    if (!known.data[0]) throw error;
    const { description, attributes } = device;
    await api.put(`${path}/${known.data[0].id}`, { description, attributes });
  }
}
