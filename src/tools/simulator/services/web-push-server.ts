import { openLoopbackHttpServer } from "./http-server.ts";
import { type ReceivedMessage, requireUrl, type SimulatedService, type SimulatedServiceDeps } from "./service.ts";
import { createWebPushBrowser } from "./web-push-browser.ts";

/** Relevant part of a message's content. */
interface Payload {
  subject?: string;
  body?: string;
  receipt?: string;
}

/**
 * A push service with one subscribed browser, which displays each message that it can decrypt and sends a receipt to the URL
 * configured by `POST /services/push`. @source RFC 8030
 */
export async function openWebPushServer({ at }: SimulatedServiceDeps): Promise<SimulatedService> {
  const receptions: ReceivedMessage[] = [];
  const browser = createWebPushBrowser();
  let receiptsTo: string | null = null;
  const server = await openLoopbackHttpServer(async ({ method, url, body }) => {
    if (method !== "POST" || url !== "/browser") return { status: 404 };
    const { subject = "", body: text = "", receipt } = JSON.parse(browser.decrypt(body)) as Payload;
    receptions.push({ service: "push", to: url, words: `${subject}\n${text}`, packets: 0, at: at() });
    if (receiptsTo !== null) void sendReceipt(receiptsTo, receipt).catch(() => undefined);
    return { status: 201 };
  });
  return {
    connectionSettings: { endpoint: `${server.url}/browser`, keys: browser.keys },
    receptions: () => receptions,
    configure(values) {
      receiptsTo = requireUrl(values);
    },
    stop: server.stop,
  };
}

/** Like a service worker after it has displayed a message. */
function sendReceipt(url: string, receipt: string | undefined): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify({ receipt }) });
}
