import { createHash } from "node:crypto";
import { type Clock, type DeliveryItem, joinSubjectAndBody, type Scroll, type Timer } from "#plugin-api";

/** A message on a desktop's screen. */
export interface DesktopMessage {
  deliveryId: number;
  notificationId: string;
  subject: string;
  body: string;
  emergency: boolean;
  drill: boolean;
  sentAt: number;
  options: readonly string[];
  /** Scrolling of the text; null for static text. */
  scroll: Scroll | null;
}

/** Screen content of a desktop; `version` changes with it. */
export interface DesktopScreen {
  version: string;
  messages: readonly DesktopMessage[];
}

/** Screens of all desktops. */
export interface DesktopScreens {
  /** Adds a message to its desktop; a waiting poll returns at once. */
  show(item: DeliveryItem): void;
  /** Removes messages. */
  clear(deliveryIds: readonly number[]): void;
  /** Removes a message from all desktops. */
  cancelNotification(notificationId: string): void;
  /** Long poll: resolves when the screen differs from `version`, or after the wait time. */
  poll(token: string, version: string): Promise<DesktopScreen>;
  /** The delivery if the token's desktop shows it; else null. */
  findItem(token: string, deliveryId: number): DeliveryItem | null;
  /** Marks a message as displayed, which starts its display time. */
  markShown(item: DeliveryItem): void;
  /** True if the desktop polled recently. */
  isConnected(identifier: string): boolean;
  /** Removes expired messages. */
  removeExpired(): void;
}

interface Desktop {
  items: Map<number, DeliveryItem>;
  version: number;
  askedAt: number;
  waiting: Set<() => void>;
}

/** A desktop that has not polled for this long beyond its wait time is offline. */
const OFFLINE_GRACE_MS = 10_000;
/** Display time of a message that does not expire. */
const DEFAULT_SHOWN_MS = 3_600_000;
/**
 * Maximum number of waiting polls. Beyond it the oldest is answered, so that unknown clients cannot lock out others.
 */
const MAX_WAITING_REQUESTS = 900;
/** Maximum number of remembered desktops. */
const MAX_DESKTOPS = 10_000;

/** Derives a desktop's device identifier from its secret token, so that the identifier alone gives no access. */
export function identifierOfToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** Creates empty screens. `run` distinguishes versions of different runs. */
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
  /** Deliveries whose display timer is running. */
  const timedDeliveries = new Set<number>();
  let versions = 0;

  const desktopOf = (identifier: string): Desktop => {
    const known = desktops.get(identifier);
    if (known) return known;
    if (desktops.size >= MAX_DESKTOPS) evictOne();
    const created = {
      items: new Map(),
      version: ++versions,
      askedAt: Number.NEGATIVE_INFINITY,
      waiting: new Set<() => void>(),
    };
    desktops.set(identifier, created);
    return created;
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
    for (const respond of [...desktop.waiting]) respond();
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
        const respond = (): void => {
          timer?.cancel();
          desktop.waiting.delete(respond);
          waiting.delete(respond);
          desktop.askedAt = clock.monotonicMs();
          resolve(screenOf(desktop));
        };
        timer = clock.after(waitMs, respond);
        desktop.waiting.add(respond);
        waiting.add(respond);
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
