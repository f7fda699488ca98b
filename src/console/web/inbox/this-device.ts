import { CallerError } from "../../../lib/errors.ts";
import type { InboxClient, NewDevice, OwnDevice } from "./api/client.ts";
import type { InboxMessageKey } from "./messages.ts";

/** Where the service worker lies; it may show messages of the pages below it. */
const WORKER = "/inbox/worker.js";
const SCOPE = "/inbox/";

/** What this browser can do and does. */
export type PushState =
  | { kind: "off" }
  | { kind: "on"; device: OwnDevice }
  /** In words why not. */
  | { kind: "unable"; word: InboxMessageKey };

/** What registering needs. */
export interface ThisDeviceOptions {
  client: InboxClient;
  userId: string;
  /** What the browser says of itself. */
  userAgent: string;
}

/** Starts the service worker, which also makes the page one that can be installed; null where there is none. */
export async function startWorker(): Promise<ServiceWorkerRegistration | null> {
  if (!("serviceWorker" in navigator)) return null;
  await navigator.serviceWorker.register(WORKER, { scope: SCOPE });
  return navigator.serviceWorker.ready;
}

/**
 * Push state of this browser. A subscription that the appliance no longer knows or has disabled is registered again. A
 * subscription that a user has disabled stays disabled.
 */
export async function pushState(
  worker: ServiceWorkerRegistration | null,
  needs: ThisDeviceOptions,
): Promise<PushState> {
  if (!worker || !("pushManager" in worker)) return { kind: "unable", word: "push-unable" };
  const subscription = await worker.pushManager.getSubscription();
  if (subscription) return register(subscription, needs, false);
  if (Notification.permission === "denied") return { kind: "unable", word: "push-denied" };
  return (await needs.client.pushKey()) === null ? { kind: "unable", word: "push-closed" } : { kind: "off" };
}

/** Subscribes this browser and registers it as a device of the person. */
export async function switchOn(worker: ServiceWorkerRegistration, needs: ThisDeviceOptions): Promise<PushState> {
  const key = await needs.client.pushKey();
  if (key === null) return { kind: "unable", word: "push-closed" };
  if ((await Notification.requestPermission()) !== "granted") return { kind: "unable", word: "push-denied" };
  try {
    const subscription = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    return await register(subscription, needs, true);
  } catch (error) {
    if (!(error instanceof CallerError)) return { kind: "unable", word: "push-unable" };
    return { kind: "unable", word: error.type === "limit-exceeded" ? "push-many" : "unreachable" };
  }
}

/** Ends the subscription and removes the device. */
export async function switchOff(
  worker: ServiceWorkerRegistration,
  device: OwnDevice,
  { client, userId }: ThisDeviceOptions,
): Promise<PushState> {
  await (await worker.pushManager.getSubscription())?.unsubscribe();
  await client.removeDevice(userId, device.id);
  return { kind: "off" };
}

async function register(
  subscription: PushSubscription,
  { client, userId, userAgent }: ThisDeviceOptions,
  isWanted: boolean,
): Promise<PushState> {
  const { endpoint, keys } = subscription.toJSON();
  if (!endpoint || !keys?.p256dh || !keys.auth) return { kind: "unable", word: "push-unable" };
  const known = (await client.devices(userId)).find((each) => each.deviceIdentifier === endpoint);
  const clientIdentifier = `${keys.p256dh}.${keys.auth}`;
  if (known) {
    if (known.disabled && known.disabledReason === null && !isWanted) return { kind: "off" };
    if (known.disabled) await client.changeDevice(userId, known.id, { disabled: false, clientIdentifier });
    return { kind: "on", device: known };
  }
  const device: NewDevice = {
    ...{ type: "web-push", name: browserName(userAgent), deviceIdentifier: endpoint, clientIdentifier },
    ...{ client: "inbox", os: userAgent.slice(0, 255) },
  };
  return { kind: "on", device: await client.addDevice(userId, device) };
}

/** What people call their browser, as far as it says so: `Chrome, Android`. */
export function browserName(userAgent: string): string {
  const maker = /(Edg|OPR|Firefox|Chrome|Safari)\//.exec(userAgent)?.[1] ?? "Browser";
  const system = /(Android|iPhone|iPad|Windows|Mac OS X|Linux)/.exec(userAgent)?.[1];
  const name = { Edg: "Edge", OPR: "Opera" }[maker] ?? maker;
  return system ? `${name}, ${system}` : name;
}
