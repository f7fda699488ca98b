import type { Clock } from "../lib/clock.ts";
import type applianceUpgradeTurns from "../resources/devices/appliance-upgrade-turns.ts";
import type applianceUpgrades from "../resources/devices/appliance-upgrades.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";

/** An upgrade of many appliances. */
export type ApplianceUpgrade = RowOf<typeof applianceUpgrades>;
/** One appliance in it. */
export type RolloutStep = RowOf<typeof applianceUpgradeTurns>;

/** What following turns needs. */
export interface RolloutStepDeps {
  store: Store;
  clock: Clock;
  /** On whose behalf the cloud itself writes. */
  by: ActorContext;
  /** Ids of the appliances whose link stands. */
  connected(): readonly string[];
}

/** Turns that are looked at, or written, without others having theirs in between. own choice */
export const STEPS_PER_TRANSACTION = 20;

/** Writes many in several transactions; goes no further where `work` gives false. */
export async function writeInBatches<T>(
  store: Store,
  all: readonly T[],
  work: (one: T, tx: Transaction) => boolean,
): Promise<void> {
  for (let at = 0; at < all.length; at += STEPS_PER_TRANSACTION) {
    const slice = all.slice(at, at + STEPS_PER_TRANSACTION);
    if (!(await store.write((tx) => slice.every((one) => work(one, tx))))) return;
  }
}
