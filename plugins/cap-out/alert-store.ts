import type { PluginContext } from "#plugin-api";
import type { PublishedAlert } from "./alert.ts";

/** The alerts of all feeds, kept over restarts. */
export interface AlertStore {
  /** Newest first; empty for a feed without alerts. */
  list(groupId: string): Promise<readonly PublishedAlert[]>;
  /** Puts what `make` gives for a feed's alerts at its top, unless it stands there already. Resolves when it is kept. */
  add(groupId: string, make: (alerts: readonly PublishedAlert[]) => PublishedAlert): Promise<void>;
  /**
   * Puts what `make` gives for a message's newest alert at the top of each feed in which the message stands once all is
   * kept that was added before; null adds nothing.
   */
  addFollowUp(notificationId: string, make: (about: PublishedAlert) => PublishedAlert | null): Promise<void>;
}

/** Alerts that a feed holds. own choice: with 40 feeds they fit into what a plugin may keep */
const MAX_ALERTS_PER_FEED = 20;
const FEEDS_KEY = "feeds";

/** Opens the shelf; one change at a time. */
export function openAlertStore(state: PluginContext["state"]): AlertStore {
  /** Names of alerts by feed, newest first. */
  let names: Promise<Record<string, string[]>> | null = null;
  const alerts = new Map<string, Promise<PublishedAlert>>();
  let work: Promise<unknown> = Promise.resolve();

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
  const serialize = (act: () => Promise<void>): Promise<void> => {
    const done = work.then(act);
    work = done.catch(() => undefined);
    return done;
  };

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
    add: (groupId, make) => serialize(async () => put(groupId, make(await list(groupId)))),
    addFollowUp: (notificationId, make) =>
      serialize(async () => {
        for (const [groupId, names] of Object.entries(await feeds())) {
          if (!names.some((name) => name.startsWith(`${notificationId}.`))) continue;
          const about = (await list(groupId)).find((alert) => alert.notificationId === notificationId);
          const next = about ? make(about) : null;
          if (next) await put(groupId, next);
        }
      }),
  };
}
