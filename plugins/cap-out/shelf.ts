import type { PluginContext } from "#plugin-api";
import type { Alert } from "./alert.ts";

/** The alerts of all feeds, kept over restarts. */
export interface Shelf {
  /** Newest first; empty for a feed without alerts. */
  alertsOf(groupId: string): Promise<readonly Alert[]>;
  /** Puts an alert at the top of a feed, unless it stands there already. Resolves when it is kept. */
  add(groupId: string, alert: Alert): Promise<void>;
  /** The feeds in which a message stands. */
  feedsWith(notificationId: string): Promise<string[]>;
}

/** Alerts that a feed holds. own choice: with 40 feeds they fit into what a plugin may keep */
const MOST_ALERTS = 20;
const FEEDS = "feeds";

/** Opens the shelf; one change at a time. */
export function openShelf(state: PluginContext["state"]): Shelf {
  /** Names of alerts by feed, newest first. */
  let names: Promise<Record<string, string[]>> | null = null;
  const alerts = new Map<string, Promise<Alert>>();
  let work: Promise<unknown> = Promise.resolve();

  const feeds = (): Promise<Record<string, string[]>> => {
    if (names !== null) return names;
    names = state.get(FEEDS).then((kept) => (kept ?? {}) as Record<string, string[]>);
    names.catch(() => {
      names = null;
    });
    return names;
  };
  const alertNamed = (name: string): Promise<Alert> => {
    const known = alerts.get(name);
    if (known !== undefined) return known;
    const read = state.get(name) as Promise<Alert>;
    alerts.set(name, read);
    read.catch(() => alerts.delete(name));
    return read;
  };

  const put = async (groupId: string, alert: Alert): Promise<void> => {
    const all = await feeds();
    const before = all[groupId] ?? [];
    if (before.includes(alert.name)) return;
    const now = [alert.name, ...before];
    const gone = now.splice(MOST_ALERTS);
    const next = { ...all, [groupId]: now };
    await state.set(alert.name, alert);
    await state.set(FEEDS, next);
    names = Promise.resolve(next);
    alerts.set(alert.name, Promise.resolve(alert));
    for (const name of gone) {
      alerts.delete(name);
      await state.set(name, undefined);
    }
  };

  return {
    alertsOf: async (groupId) => Promise.all(((await feeds())[groupId] ?? []).map(alertNamed)),
    add(groupId, alert) {
      const done = work.then(() => put(groupId, alert));
      work = done.catch(() => undefined);
      return done;
    },
    async feedsWith(notificationId) {
      const all = await feeds();
      return Object.keys(all).filter((id) => all[id]?.some((name) => name.startsWith(`${notificationId}.`)));
    },
  };
}
