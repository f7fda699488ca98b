import type { DeviceFilterRequest, DeviceFilterResult, PluginContext } from "#plugin-api";

export interface FilterService {
  fetch: PluginContext["fetch"];
  url: string;
  secret: string | null;
  timeoutMs: number;
}

/** Asks the service about the devices of one request. Rejects with a reason for people if it gives no valid answer. */
export async function askFilterService(
  { notificationId, subject, priority, drill, candidates }: DeviceFilterRequest,
  { fetch, url, secret, timeoutMs }: FilterService,
): Promise<DeviceFilterResult> {
  const { status, body } = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json; charset=utf-8",
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
    },
    body: JSON.stringify({ notificationId, subject, priority, drill, devices: candidates }),
    timeoutMs,
  });
  if (status !== 200) throw new RangeError(`the service responded with HTTP ${status}`);
  const { exclude, reason } = parse(body);
  if (!Array.isArray(exclude) || exclude.some((id) => typeof id !== "string"))
    throw new RangeError("the response must be an object with a list of ids, exclude");
  if (reason !== undefined && typeof reason !== "string") throw new RangeError("the member reason must be a text");
  return { excluded: exclude as string[], ...(reason === undefined ? {} : { reason: reason.slice(0, 200) }) };
}

function parse(body: string): { exclude?: unknown; reason?: unknown } {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
