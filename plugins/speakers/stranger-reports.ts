import type { Clock, PluginLog } from "#plugin-api";
import type { StrangerReport } from "./agent-messages.ts";
import { sentence } from "./sentences.ts";

/** Packets that agents did not play, because nothing announced them. */
export interface StrangerReports {
  note(mac: string, report: StrangerReport): void;
  /** The senders of the last minutes as text; null if there were none. */
  notice(): string | null;
}

interface Sender {
  address: string;
  zone: string | null;
  packets: number;
  lastAt: number;
  loggedAt: number;
}

/** A fifth of a second of a stream; fewer packets are stray ones. */
const MIN_PACKETS = 10;
const NOTICE_MS = 600_000;
const MAX_SENDERS = 64;
const MAX_NAMED = 5;

/** Creates reports, empty. Their memory is bounded, because a sender can invent addresses. */
export function createStrangerReports(clock: Pick<Clock, "monotonicMs">, log: PluginLog): StrangerReports {
  const senders = new Map<string, Sender>();
  const removeOld = (): void => {
    for (const [key, { lastAt }] of senders) if (clock.monotonicMs() - lastAt >= NOTICE_MS) senders.delete(key);
  };
  return {
    note(mac, { senders: reported }) {
      removeOld();
      for (const { address, zone, packets } of reported) {
        const key = `${address} ${zone}`;
        const now = clock.monotonicMs();
        const known = senders.get(key);
        if (!known && senders.size >= MAX_SENDERS) continue;
        const sender = known ?? { address, zone, packets: 0, lastAt: now, loggedAt: Number.NEGATIVE_INFINITY };
        Object.assign(sender, { packets: sender.packets + packets, lastAt: now });
        senders.set(key, sender);
        if (sender.packets < MIN_PACKETS || now - sender.loggedAt < NOTICE_MS) continue;
        sender.loggedAt = now;
        log.warn(
          { event: "speakers.strangers_refused", agent: mac, address, zone, packets: sender.packets },
          "packets of an unannounced sender were not played",
        );
      }
    },
    notice() {
      removeOld();
      const named = [...senders.values()]
        .filter(({ packets }) => packets >= MIN_PACKETS)
        .map(({ address, zone }) => (zone === null ? address : `${address} (${zone})`))
        .sort();
      if (named.length === 0) return null;
      return sentence("strangers", { senders: named.slice(0, MAX_NAMED).join(", "), count: named.length });
    },
  };
}
