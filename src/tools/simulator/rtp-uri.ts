import { isIPv4 } from "node:net";

/** Command in an RTP URI; `message`: why it is invalid. */
export type RtpCommand =
  | { kind: "listen"; cast: "multicast" | "unicast"; address: string; port: number }
  | { kind: "stop"; cast: "multicast" | "any" }
  | { kind: "invalid"; message: string };

const MIN_PORT = 20_480;
const MAX_PORT = 32_768;

/**
 * Parses `RTPMRx:group:port[:volume]`, `RTPRx:sender:port[:volume]` and both Stop forms, case-sensitive. A further field (the
 * audio path of wireless models) is accepted and ignored. @source docs/decisions/0033-multicast-rtp.md
 */
export function parseRtpUri(uri: string): RtpCommand {
  const [scheme, address = "", portText, volumeText = "0", ...more] = uri.split(":");
  const cast = scheme === "RTPMRx" ? "multicast" : "unicast";
  if (address === "Stop" && portText === undefined) return { kind: "stop", cast: cast === "unicast" ? "any" : cast };
  const port = /^\d{1,5}$/.test(portText ?? "") ? Number(portText) : Number.NaN;
  if (!isIPv4(address) || more.length > 1) return { kind: "invalid", message: "Invalid address" };
  if (!(port >= MIN_PORT && port <= MAX_PORT && port % 2 === 0)) {
    return { kind: "invalid", message: "Invalid port" };
  }
  if (!/^\d{1,3}$/.test(volumeText) || Number(volumeText) > 100) return { kind: "invalid", message: "Invalid volume" };
  const first = Number(address.split(".")[0]);
  if (cast === "multicast" && (first < 224 || first > 239)) return { kind: "invalid", message: "Not a group" };
  return { kind: "listen", cast, address, port };
}
