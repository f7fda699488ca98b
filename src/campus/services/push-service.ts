import { openHttpServer } from "./http-server.ts";
import { makePushBrowser } from "./push-browser.ts";
import { type Reception, type Service, type ServiceNeeds, urlIn } from "./service.ts";

/** What matters of a message's content. */
interface Payload {
  subject?: string;
  body?: string;
  receipt?: string;
}

/**
 * A push service with one subscribed browser, which shows each message that it can decrypt and tells the appliance so;
 * `POST /services/push` says where to, `{url}`. @source RFC 8030
 */
export async function openPushService({ at }: ServiceNeeds): Promise<Service> {
  const receptions: Reception[] = [];
  const browser = makePushBrowser();
  let receiptsTo: string | null = null;
  const server = await openHttpServer(async ({ method, url, body }) => {
    if (method !== "POST" || url !== "/browser") return { status: 404 };
    const { subject = "", body: text = "", receipt } = JSON.parse(browser.read(body)) as Payload;
    receptions.push({ service: "push", to: url, words: `${subject}\n${text}`, packets: 0, at: at() });
    if (receiptsTo !== null) void show(receiptsTo, receipt).catch(() => undefined);
    return { status: 201 };
  });
  return {
    facts: { endpoint: `${server.url}/browser`, keys: browser.keys },
    receptions: () => receptions,
    tell(values) {
      receiptsTo = urlIn(values);
    },
    stop: server.stop,
  };
}

/** What a service worker does once it has shown a message. */
function show(url: string, receipt: string | undefined): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify({ receipt }) });
}
