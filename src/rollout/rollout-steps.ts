import type { Clock } from "../lib/clock.ts";
import type applianceUpgradeTurns from "../resources/devices/appliance-upgrade-turns.ts";
import type applianceUpgrades from "../resources/devices/appliance-upgrades.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";

/** A staged rollout. */
export type ApplianceUpgrade = RowOf<typeof applianceUpgrades>;
/** One appliance in a rollout. */
export type RolloutStep = RowOf<typeof applianceUpgradeTurns>;

export interface RolloutStepDeps {
  store: Store;
  clock: Clock;
  /** Actor of the cloud's own writes. */
  by: ActorContext;
  /** Ids of the connected appliances. */
  connected(): readonly string[];
}

/** @source docs/decisions/0305-staged-rollouts.md */
export const STEPS_PER_TRANSACTION = 20;

/** Writes items in several transactions; stops when `work` returns false. */
export async function writeInBatches<T>(
  store: Store,
  all: readonly T[],
  write: (one: T, tx: Transaction) => boolean,
): Promise<void> {
  for (let at = 0; at < all.length; at += STEPS_PER_TRANSACTION) {
    const batch = all.slice(at, at + STEPS_PER_TRANSACTION);
    if (!(await store.write((tx) => batch.every((one) => write(one, tx))))) return;
  }
}
