import { randomBytes } from "node:crypto";
import type { PluginRequest, PluginResponse } from "#plugin-api";

/** What phones tell of streams by themselves. */
export interface StreamEvents {
  /** A Notify URI that no one can guess; `onStopped` is called once at most, when the phone says that its stream has ended. */
  subscribe(onStopped: () => void): string;
  /** Answers a phone; null when the path is none of these. */
  respond(request: PluginRequest): PluginResponse | null;
}

/** own choice: as many phones as are asked again during one emergency; the oldest is forgotten. */
const MAX_SUBSCRIPTIONS = 20_000;
const PATH = /\/stream\/([\w-]{22})$/;

/** Makes the book of events; they come to the own port, whose public URL `portUrl` gives. */
export function createStreamEvents(portUrl: () => string): StreamEvents {
  const expected = new Map<string, () => void>();
  return {
    subscribe(onStopped) {
      const token = randomBytes(16).toString("base64url");
      expected.set(token, onStopped);
      for (const oldest of expected.keys()) {
        if (expected.size <= MAX_SUBSCRIPTIONS) break;
        expected.delete(oldest);
      }
      return notifyUri(new URL(`stream/${token}`, portUrl()));
    },
    respond({ method, url, body }) {
      const token = PATH.exec(url.split("?", 1)[0] ?? "")?.[1];
      if (token === undefined) return null;
      if (method !== "POST") return { status: 405 };
      const said = new URLSearchParams(Buffer.from(body).toString("utf8")).get("DATA") ?? "";
      if (!/<notifyMediaEvent\b[^>]*\btype\s*=\s*["']stopped["']/i.test(said)) return { status: 204 };
      const onStopped = expected.get(token);
      expected.delete(token);
      onStopped?.();
      return { status: onStopped ? 204 : 404 };
    },
  };
}

/** `Notify:http:host:port:path`, the path without its first slash. @source IP Phone Services Application Development Notes, Notify */
function notifyUri({ hostname, port, pathname }: URL): string {
  return `Notify:http:${hostname}:${port === "" ? 80 : port}:${pathname.slice(1)}`;
}
