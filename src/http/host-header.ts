import type { IncomingMessage } from "node:http";
import type { HostCheck } from "../auth/host-check.ts";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { misdirectedRequest } from "./error-response.ts";

/**
 * Throws invalid-value unless there is one Host header: of two, a proxy and the appliance could each take another one.
 * Throws wrong-host when it does not name this appliance. @source RFC 9112 §3.2
 */
export function assertOwnHost(raw: IncomingMessage, isOwnHost: HostCheck): void {
  const { host } = raw.headers;
  if (host === undefined && raw.httpVersion === "1.1")
    throw invalidValue("host", sentence("field.the-host-header-is-required"));
  const count = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length;
  if (count > 1) throw invalidValue("host", sentence("field.the-host-header-must-be-given-once"));
  if (!isOwnHost({ host: host ?? null, localAddress: raw.socket.localAddress })) throw misdirectedRequest();
}
