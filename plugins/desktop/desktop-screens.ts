import { createHash } from "node:crypto";
import { type Clock, type DeliveryItem, joinSubjectAndBody, type Scroll, type Timer } from "#plugin-api";

/** A message as a desktop shows it. */
export interface DesktopMessage {
  deliveryId: number;
  notificationId: string;
  subject: string;
  body: string;
  emergency: boolean;
  drill: boolean;
  sentAt: number;
  options: readonly string[];
  /** How the text runs across; null where it stands still. */
  scroll: Scroll | null;
}

/** What a desktop is to show now; `version` changes with it. */
export interface DesktopScreen {
  version: string;
  messages: readonly DesktopMessage[];
}

/** The desktops that messages wait for, and those that ask. */
export interface DesktopScreens {
  /** Puts a message on its desktop; one that asks gets it at once. */
  show(item: DeliveryItem): void;
  /** Takes messages off. */
  clear(deliveryIds: readonly number[]): void;
  /** Takes a message off all desktops. */
  cancelNotification(notificationId: string): void;
  /** Resolves when the desktop is to show something else than `version`, or after the time to wait. */
  poll(token: string, version: string): Promise<DesktopScreen>;
  /** The item of a delivery that the token's desktop shows; null when it shows no such. */
  findItem(token: string, deliveryId: number): DeliveryItem | null;
  /** A desktop shows it now: from here on its time runs. */
  markShown(item: DeliveryItem): void;
  /** True for a desktop that has asked within the last seconds. */
  isConnected(identifier: string): boolean;
  /** Takes off what is over. */
  removeExpired(): void;
}

interface Desktop {
  items: Map<number, DeliveryItem>;
  version: number;
  askedAt: number;
  waiting: Set<() => void>;
}

/** A desktop that has not asked for so much longer than it waits is gone. own choice */
const OFFLINE_GRACE_MS = 10_000;
/** How long a message without an end is shown. own choice */
const DEFAULT_SHOWN_MS = 3_600_000;
/** Questions that wait at once; beyond it the oldest is answered, so that strangers who ask shut nobody out. own choice */
const MAX_WAITING_REQUESTS = 900;
/** Desktops that are remembered. own choice: more than ask at once */
const MAX_DESKTOPS = 10_000;

/**
 * A desktop's device identifier by the secret that it alone knows: whoever sees the identifier can't ask in its name.
 */
export function identifierOfToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** Makes screens on which nothing is shown. `run` tells versions of earlier runs apart. */
export function createDesktopScreens({
  clock,
  waitMs,
  run,
}: {
  clock: Clock;
  waitMs: number;
  run: string;
}): DesktopScreens {
  const desktops = new Map<string, Desktop>();
  /** Oldest first. */
  const waiting = new Set<() => void>();
  /** Deliveries whose time runs. */
  const timedDeliveries = new Set<number>();
  let versions = 0;

  const desktopOf = (identifier: string): Desktop => {
    const known = desktops.get(identifier);
    if (known) return known;
    if (desktops.size >= MAX_DESKTOPS) evictOne();
    const made = {
      items: new Map(),
      version: ++versions,
      askedAt: Number.NEGATIVE_INFINITY,
      waiting: new Set<() => void>(),
    };
    desktops.set(identifier, made);
    return made;
  };
  const evictOne = (): void => {
    for (const [identifier, { items, waiting }] of desktops) {
      if (items.size > 0 || waiting.size > 0) continue;
      desktops.delete(identifier);
      return;
    }
  };
  const publishChange = (desktop: Desktop): void => {
    desktop.version = ++versions;
    for (const tell of [...desktop.waiting]) tell();
  };
  const removeWhere = (which: (item: DeliveryItem) => boolean): void => {
    for (const desktop of desktops.values()) {
      const gone = [...desktop.items.values()].filter(which);
      for (const { deliveryId } of gone) {
        desktop.items.delete(deliveryId);
        timedDeliveries.delete(deliveryId);
      }
      if (gone.length > 0) publishChange(desktop);
    }
  };
  const screenOf = ({ items, version }: Desktop): DesktopScreen => ({
    version: `${run}-${version}`,
    messages: [...items.values()].sort((a, b) => a.priority - b.priority || b.sentAt - a.sentAt).map(desktopMessage),
  });

  return {
    show(item) {
      const desktop = desktopOf(item.device.deviceIdentifier);
      desktop.items.set(item.deliveryId, item);
      publishChange(desktop);
    },
    clear(deliveryIds) {
      const gone = new Set(deliveryIds);
      removeWhere(({ deliveryId }) => gone.has(deliveryId));
    },
    markShown({ deliveryId, device, profile: { durationMs } }) {
      if (durationMs === null || timedDeliveries.has(deliveryId)) return;
      timedDeliveries.add(deliveryId);
      clock.after(durationMs, () => {
        timedDeliveries.delete(deliveryId);
        const desktop = desktops.get(device.deviceIdentifier);
        if (desktop?.items.delete(deliveryId)) publishChange(desktop);
      });
    },
    cancelNotification: (notificationId) => removeWhere((item) => item.notificationId === notificationId),
    poll(token, version) {
      const desktop = desktopOf(identifierOfToken(token));
      desktop.askedAt = clock.monotonicMs();
      if (screenOf(desktop).version !== version) return Promise.resolve(screenOf(desktop));
      return new Promise((resolve) => {
        let timer: Timer | null = null;
        const answer = (): void => {
          timer?.cancel();
          desktop.waiting.delete(answer);
          waiting.delete(answer);
          desktop.askedAt = clock.monotonicMs();
          resolve(screenOf(desktop));
        };
        timer = clock.after(waitMs, answer);
        desktop.waiting.add(answer);
        waiting.add(answer);
        const [oldest] = waiting;
        if (waiting.size > MAX_WAITING_REQUESTS) oldest?.();
      });
    },
    findItem: (token, deliveryId) => desktops.get(identifierOfToken(token))?.items.get(deliveryId) ?? null,
    removeExpired() {
      const now = clock.now();
      removeWhere((item) => shownUntil(item) <= now);
    },
    isConnected(identifier) {
      const desktop = desktops.get(identifier);
      return desktop !== undefined && clock.monotonicMs() - desktop.askedAt < waitMs + OFFLINE_GRACE_MS;
    },
  };
}

function shownUntil({ expiresAt, sentAt }: DeliveryItem): number {
  return expiresAt ?? sentAt + DEFAULT_SHOWN_MS;
}

function desktopMessage({
  deliveryId,
  notificationId,
  text,
  drill,
  sentAt,
  recipient,
  profile,
  ...item
}: DeliveryItem): DesktopMessage {
  return {
    ...{ deliveryId, notificationId, emergency: item.class === "emergency", drill, sentAt },
    ...(profile.concatenatedText
      ? { subject: joinSubjectAndBody(text), body: "" }
      : { subject: text.subject, body: text.body }),
    ...{ options: recipient?.answers?.options ?? [], scroll: profile.scroll },
  };
}
