import { LOGGED_IN } from "./api/routes.ts";

/** What of a service worker's surroundings is used; the page's own types know none of it. */
interface WorkerScope {
  readonly registration: ServiceWorkerRegistration;
  readonly navigator: { readonly languages: readonly string[] };
  readonly clients: {
    matchAll(
      options: object,
    ): Promise<{ url: string; focus?(): Promise<unknown>; postMessage(message: unknown): void }[]>;
    openWindow(address: string): Promise<unknown>;
    claim(): Promise<void>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(name: string, listener: (event: WorkerEvent) => void): void;
}

interface WorkerEvent {
  waitUntil(work: Promise<unknown>): void;
  readonly data?: { json(): Message } | null;
  readonly notification?: Notification & { readonly data: Message };
  readonly action?: string;
}

/** What the appliance sends. @source plugins/web-push, Payload */
interface Message {
  id: string;
  subject: string;
  body: string;
  emergency: boolean;
  drill: boolean;
  sentAt: number;
  answerUrl: string | null;
  options: readonly string[];
  receipt: string;
}

const scope = globalThis as unknown as WorkerScope;
const RECEIPT = "/x/web-push/receipt";
/** Browsers show no more. */
const MAX_ACTIONS = 2;

scope.addEventListener("install", (event) => event.waitUntil(scope.skipWaiting()));
scope.addEventListener("activate", (event) => event.waitUntil(scope.clients.claim()));

scope.addEventListener("push", (event) => {
  const message = event.data?.json();
  if (message) event.waitUntil(show(message));
});

scope.addEventListener("notificationclick", (event) => {
  const { notification, action } = event;
  if (!notification) return;
  notification.close();
  event.waitUntil(action ? answer(notification.data, action) : open(notification.data));
});

async function show(message: Message): Promise<void> {
  const { id, subject, body, emergency, options, sentAt } = message;
  const more = {
    actions: options.slice(0, MAX_ACTIONS).map((option) => ({ action: option, title: option })),
    renotify: true,
    timestamp: sentAt,
    vibrate: emergency ? [400, 200, 400, 200, 400] : [200],
  };
  await scope.registration.showNotification(subject, {
    ...more,
    body,
    tag: id,
    data: message,
    icon: "/inbox/icon-192.png",
    requireInteraction: emergency,
  });
  for (const page of await scope.clients.matchAll({ type: "window" })) page.postMessage({ id });
  await tell({ receipt: message.receipt });
}

async function answer(message: Message, option: string): Promise<void> {
  const response = await tell({ receipt: message.receipt, option });
  if (!response?.ok) return open(message);
  const { reply } = (await response.json()) as { reply: string | null };
  if (reply === null) return;
  await scope.registration.showNotification(message.subject, { body: reply, tag: message.id, data: message });
}

/** Who has logged in sees all messages; for the others the link of the message is good. */
async function open({ id, answerUrl }: Message): Promise<void> {
  const pages = await scope.clients.matchAll({ type: "window" });
  const page = pages.find(({ url }) => new URL(url).pathname.startsWith("/inbox/"));
  if (page?.focus) {
    page.postMessage({ id });
    await page.focus();
    return;
  }
  const { loggedIn } = (await fetch(LOGGED_IN)
    .then((response) => response.json())
    .catch(() => ({}))) as { loggedIn?: boolean };
  await scope.clients.openWindow(loggedIn || answerUrl === null ? `/inbox/#${id}` : answerUrl);
}

function tell(said: object): Promise<Response | null> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(said) };
  return fetch(RECEIPT, init).catch(() => null);
}
