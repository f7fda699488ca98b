import { createSerialQueue, type PluginContext } from "#plugin-api";
import type { PublishedAlert } from "./alert.ts";

/** Alerts of all feeds, persistent. */
export interface AlertStore {
  /** Newest first; empty for a feed without alerts. */
  list(groupId: string): Promise<readonly PublishedAlert[]>;
  /**
   * Adds an alert to a feed unless it is already there. `make` gets the feed's current alerts. Resolves when stored.
   */
  add(groupId: string, make: (alerts: readonly PublishedAlert[]) => PublishedAlert): Promise<void>;
  /**
   * Adds a follow-up of a message's newest alert to each feed that contains the message, after all earlier additions;
   * null adds nothing.
   */
  addFollowUp(notificationId: string, make: (about: PublishedAlert) => PublishedAlert | null): Promise<void>;
}

/** Alerts per feed; 40 feeds fit into the plugin state limit. */
const MAX_ALERTS_PER_FEED = 20;
const FEEDS_KEY = "feeds";

/** Opens the store; changes are serialized. */
export function openAlertStore(state: PluginContext["state"]): AlertStore {
  /** Alert names by feed, newest first. */
  let names: Promise<Record<string, string[]>> | null = null;
  const alerts = new Map<string, Promise<PublishedAlert>>();
  const changes = createSerialQueue();

  const feeds = (): Promise<Record<string, string[]>> => {
    if (names !== null) return names;
    names = state.get(FEEDS_KEY).then((kept) => (kept ?? {}) as Record<string, string[]>);
    names.catch(() => {
      names = null;
    });
    return names;
  };
  const readAlert = (name: string): Promise<PublishedAlert> => {
    const known = alerts.get(name);
    if (known !== undefined) return known;
    const read = state.get(name) as Promise<PublishedAlert>;
    alerts.set(name, read);
    read.catch(() => alerts.delete(name));
    return read;
  };

  const list = async (groupId: string): Promise<PublishedAlert[]> =>
    Promise.all(((await feeds())[groupId] ?? []).map(readAlert));

  const put = async (groupId: string, alert: PublishedAlert): Promise<void> => {
    const all = await feeds();
    const before = all[groupId] ?? [];
    if (before.includes(alert.name)) return;
    const now = [alert.name, ...before];
    const gone = now.splice(MAX_ALERTS_PER_FEED);
    const next = { ...all, [groupId]: now };
    await state.set(alert.name, alert);
    await state.set(FEEDS_KEY, next);
    names = Promise.resolve(next);
    alerts.set(alert.name, Promise.resolve(alert));
    for (const name of gone) {
      alerts.delete(name);
      await state.set(name, undefined);
    }
  };

  return {
    list,
    add: (groupId, make) => changes.run(async () => put(groupId, make(await list(groupId)))),
    addFollowUp: (notificationId, make) =>
      changes.run(async () => {
        for (const [groupId, names] of Object.entries(await feeds())) {
          if (!names.some((name) => name.startsWith(`${notificationId}.`))) continue;
          const about = (await list(groupId)).find((alert) => alert.notificationId === notificationId);
          const next = about ? make(about) : null;
          if (next) await put(groupId, next);
        }
      }),
  };
}
