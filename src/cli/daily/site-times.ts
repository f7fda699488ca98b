import type { ApiClient, ApiPage } from "../../api-client/api-client.ts";
import { UpstreamError } from "../../lib/errors.ts";

/** The appliance that answers, as it sees itself. */
export interface OwnEndpoint {
  id: string;
  name: string | null;
  status: "GREEN" | "YELLOW" | "RED";
  redReasons: string[];
  yellowReasons: string[];
  buildInfo: { version: string };
  clock: { timeZone: string; offsets: readonly { from: string; minutes: number }[] };
}

type OtherEndpoint = Omit<OwnEndpoint, "buildInfo"> & { buildInfo: null };

/** Throws UpstreamError for a user who may not see the appliance. */
export async function readOwnEndpoint(api: ApiClient): Promise<OwnEndpoint> {
  const proxies = await api.get<ApiPage<{ id: string; name: string }>>("/extensions?type=endpoint-proxy&limit=100");
  const proxy = proxies.data.find(({ name }) => name === "onprem");
  const endpoints = proxy
    ? await api.get<ApiPage<OwnEndpoint | OtherEndpoint>>(`/extensions/${proxy.id}/endpoints?limit=1000`)
    : { data: [] as never[] };
  // Only the appliance itself knows what runs on it.
  const own = endpoints.data.find((each) => each.buildInfo !== null) as OwnEndpoint | undefined;
  if (!own)
    throw new UpstreamError("upstream", "The token's user may not see the appliance: `read endpoints` is missing.");
  return own;
}

/** Local time at the site, `2026-09-01 08:00:00`: by the appliance's own time zone data, as this machine's may be older. */
export function siteTime(iso: string, { offsets }: OwnEndpoint["clock"]): string {
  const at = Date.parse(iso);
  const minutes = offsets.findLast(({ from }) => Date.parse(from) <= at)?.minutes ?? offsets[0]?.minutes ?? 0;
  return new Date(at + minutes * 60_000).toISOString().slice(0, 19).replace("T", " ");
}
