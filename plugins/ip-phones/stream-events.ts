import { randomBytes } from "node:crypto";
import type { PluginRequest, PluginResponse } from "#plugin-api";

/** Stream notifications from phones. */
export interface StreamEvents {
  /**
   * Creates an unguessable Notify URI; `onStopped` is called at most once, when the phone reports the end of its
   * stream.
   */
  subscribe(onStopped: () => void): string;
  /** Handles a notification; null for other paths. */
  respond(request: PluginRequest): PluginResponse | null;
}

/** Limit of subscriptions during an emergency; the oldest is dropped. */
const MAX_SUBSCRIPTIONS = 20_000;
const PATH = /\/stream\/([\w-]{22})$/;

/** Creates the subscriptions; notifications arrive at the plugin's own port with public URL `portUrl`. */
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
      const data = new URLSearchParams(Buffer.from(body).toString("utf8")).get("DATA") ?? "";
      if (!/<notifyMediaEvent\b[^>]*\btype\s*=\s*["']stopped["']/i.test(data)) return { status: 204 };
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
