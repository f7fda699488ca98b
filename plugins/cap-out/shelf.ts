import type { PluginContext } from "#plugin-api";
import type { Alert } from "./alert.ts";

/** The alerts of all feeds, kept over restarts. */
export interface Shelf {
  /** Newest first; empty for a feed without alerts. */
  alertsOf(groupId: string): Promise<readonly Alert[]>;
  /** Puts what `make` gives for a feed's alerts at its top, unless it stands there already. Resolves when it is kept. */
  add(groupId: string, make: (alerts: readonly Alert[]) => Alert): Promise<void>;
  /**
   * Puts what `make` gives for a message's newest alert at the top of each feed in which the message stands once all is
   * kept that was added before; null adds nothing.
   */
  follow(notificationId: string, make: (about: Alert) => Alert | null): Promise<void>;
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

  const alertsOf = async (groupId: string): Promise<Alert[]> =>
    Promise.all(((await feeds())[groupId] ?? []).map(alertNamed));
  const inTurn = (act: () => Promise<void>): Promise<void> => {
    const done = work.then(act);
    work = done.catch(() => undefined);
    return done;
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
    alertsOf,
    add: (groupId, make) => inTurn(async () => put(groupId, make(await alertsOf(groupId)))),
    follow: (notificationId, make) =>
      inTurn(async () => {
        for (const [groupId, names] of Object.entries(await feeds())) {
          if (!names.some((name) => name.startsWith(`${notificationId}.`))) continue;
          const about = (await alertsOf(groupId)).find((alert) => alert.notificationId === notificationId);
          const next = about ? make(about) : null;
          if (next) await put(groupId, next);
        }
      }),
  };
}
