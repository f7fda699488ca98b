import { type PluginRequest, parsePayload } from "#plugin-api";

/** What a request says: its body, else the parameters of its address. Throws RangeError for JSON that is none. */
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
  const said = parsePayload(body);
  if (type === "application/json" && typeof said === "string" && body[0] !== 0x22)
    throw new RangeError("the body is no JSON");
  return said;
}
