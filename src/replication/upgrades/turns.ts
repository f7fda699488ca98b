import type { Clock } from "../../base/clock.ts";
import type applianceUpgradeTurns from "../../resources/devices/appliance-upgrade-turns.ts";
import type applianceUpgrades from "../../resources/devices/appliance-upgrades.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { By, Store, Transaction } from "../../store/store.ts";

/** An upgrade of many appliances. */
export type ApplianceUpgrade = RowOf<typeof applianceUpgrades>;
/** One appliance in it. */
export type UpgradeTurn = RowOf<typeof applianceUpgradeTurns>;

/** What following turns needs. */
export interface TurnNeeds {
  store: Store;
  clock: Clock;
  /** On whose behalf the cloud itself writes. */
  by: By;
  /** Ids of the appliances whose link stands. */
  connected(): readonly string[];
}

/** Turns that are looked at, or written, without others having theirs in between. own choice */
export const AT_ONCE = 20;

/** Writes many in several transactions; goes no further where `work` gives false. */
export async function inSlices<T>(
  store: Store,
  all: readonly T[],
  work: (one: T, tx: Transaction) => boolean,
): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const slice = all.slice(at, at + AT_ONCE);
    if (!(await store.write((tx) => slice.every((one) => work(one, tx))))) return;
  }
}
