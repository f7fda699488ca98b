import { createHash, randomBytes } from "node:crypto";
import { type ReceivedMessage, requireUrl, type SimulatedService, type SimulatedServiceDeps } from "./service.ts";

/** Content of the screen. */
interface DesktopScreen {
  version: string;
  messages: { deliveryId: number; subject: string; body: string }[];
}

/** A desktop client that displays what the appliance at the URL configured by `POST /services/desktop` sends. */
export function openDesktopClient({ at }: SimulatedServiceDeps): SimulatedService {
  const receptions: ReceivedMessage[] = [];
  const token = randomBytes(32).toString("base64url");
  const identifier = createHash("sha256").update(token).digest("hex");
  const stopping = new AbortController();

  const post = (url: string, values: object): Promise<Response> =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, ...values }),
      signal: stopping.signal,
    });
  async function pollScreen(url: string): Promise<void> {
    const shown = new Set<number>();
    for (let version = ""; !stopping.signal.aborted; ) {
      const screen = (await (await post(`${url}/screen`, { version })).json()) as DesktopScreen;
      version = screen.version;
      for (const { deliveryId, subject, body } of screen.messages) {
        if (shown.has(deliveryId)) continue;
        shown.add(deliveryId);
        receptions.push({ service: "desktop", to: identifier, words: `${subject}\n${body}`, packets: 0, at: at() });
        await post(`${url}/receipt`, { deliveryId });
      }
    }
  }
  return {
    connectionSettings: { identifier },
    receptions: () => receptions,
    // A client that can't poll is off; the appliance notices that.
    configure: (values) => void pollScreen(requireUrl(values)).catch(() => undefined),
    stop: async () => stopping.abort(),
  };
}
