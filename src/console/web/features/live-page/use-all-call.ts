import { useQueries } from "@tanstack/react-query";
import type { RowPage } from "../../api/client.ts";
import type { Row } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";

/** Share of all devices from which a page is an all-call; the same as for messages. */
const ALL_CALL = 0.9;
const COUNT = { limit: 1 } as const;

/** Whether groups may have so many devices that everyone hears it; also while the number is unknown. */
export function useAllCall(deviceGroupIds: readonly string[]): boolean {
  const { client } = useConsole();
  const all = useRows("devices", {}, COUNT);
  const groups = useQueries({
    queries: deviceGroupIds.map((deviceGroupId) => ({
      queryKey: ["devices", "device-groups/{deviceGroupId}/devices", { deviceGroupId }, COUNT],
      queryFn: () => client.get<RowPage<Row>>("device-groups/{deviceGroupId}/devices", { deviceGroupId }, COUNT),
    })),
  });
  if (deviceGroupIds.length === 0) return false;
  if (!all.data || groups.some(({ data }) => !data)) return true;
  // Groups that overlap are counted twice: rather once too often than not.
  const devices = groups.reduce((sum, { data }) => sum + (data?.total ?? 0), 0);
  return all.data.total > 0 && devices >= ALL_CALL * all.data.total;
}
