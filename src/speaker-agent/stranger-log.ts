/** Packets of senders that the appliance did not announce. */
export interface StrangerReport {
  packets: number;
  /** Those with the most packets; `zone` is `group:port`, null for the agent's own port. */
  senders: { address: string; zone: string | null; packets: number }[];
}

/** Counts packets that are not played. */
export interface StrangerLog {
  note(address: string, zone: string | null): void;
  /** What came since the last call; null if nothing did. */
  take(): StrangerReport | null;
}

/** Number of senders that are counted one by one; the others count in `packets` only. */
const MAX_SENDERS = 32;
const MAX_REPORTED = 8;

/** Creates an empty log. Its memory is bounded, because a sender can invent addresses. */
export function createStrangerLog(): StrangerLog {
  let packets = 0;
  const senders = new Map<string, StrangerReport["senders"][number]>();
  return {
    note(address, zone) {
      packets++;
      const key = `${address} ${zone}`;
      const known = senders.get(key);
      if (known) known.packets++;
      else if (senders.size < MAX_SENDERS) senders.set(key, { address, zone, packets: 1 });
    },
    take() {
      if (packets === 0) return null;
      const most = [...senders.values()].sort((one, two) => two.packets - one.packets).slice(0, MAX_REPORTED);
      const report = { packets, senders: most };
      packets = 0;
      senders.clear();
      return report;
    },
  };
}
