import { type PluginRequest, parsePayload } from "#plugin-api";

/** Payload of a request: its body, or else its query parameters. Throws RangeError for invalid JSON. */
export function parseRequestContent({ method, url, headers, body }: PluginRequest): unknown {
  const parameters = new URL(url, "http://localhost").searchParams;
  parameters.delete("secret");
  if (method === "GET" || body.length === 0) return Object.fromEntries(parameters);
  const type = String(headers["content-type"] ?? "")
    .split(";", 1)[0]
    ?.trim()
    .toLowerCase();
  if (type === "application/x-www-form-urlencoded")
    return Object.fromEntries(new URLSearchParams(Buffer.from(body).toString("utf8")));
  const payload = parsePayload(body);
  if (type === "application/json" && typeof payload === "string" && body[0] !== 0x22)
    throw new RangeError("the body must be valid JSON");
  return payload;
}
