import { addressTowards } from "#plugin-api";

/** The appliance's own address towards each agent. */
export interface SourceAddresses {
  /** Null if not known yet. */
  towards(address: string): string | null;
  /** Looks the address up for later. */
  learn(address: string): void;
  /** The network changed. */
  forget(): void;
}

/** As many as there are agents. */
const MAX_ADDRESSES = 5_000;

/** Starts without addresses. */
export function createSourceAddresses(): SourceAddresses {
  const known = new Map<string, string | null>();
  return {
    towards: (address) => known.get(address) ?? null,
    learn(address) {
      if (known.has(address) || known.size >= MAX_ADDRESSES) return;
      known.set(address, null);
      addressTowards(address).then(
        (source) => void known.set(address, source),
        // There is no route; the next poll tries again.
        () => void known.delete(address),
      );
    },
    forget: () => known.clear(),
  };
}
