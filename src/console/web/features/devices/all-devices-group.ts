import { includesAllDevices } from "../../../../resources/devices/device-group-fields.ts";
import type { ApiClient, RowPage } from "../../api/client.ts";
import type { GroupRow } from "../../api/rows.ts";

/** A group that every device is in: one that is there, else a new one with this name. */
export async function allDevicesGroup(client: ApiClient, name: string): Promise<GroupRow> {
  const known = await client.get<RowPage<GroupRow>>("device-groups", {}, { filterType: "ACCEPT" });
  return (
    known.data.find(includesAllDevices) ?? client.post<GroupRow>("device-groups", {}, { name, filterType: "ACCEPT" })
  );
}
