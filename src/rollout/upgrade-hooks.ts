import type applianceUpgrades from "../resources/devices/appliance-upgrades.ts";
import type { ResourceHooks } from "../store/store.ts";

const NONE = { waiting: 0, ordered: 0, done: 0, failed: 0, skipped: 0, cancelled: 0 };

/** Adds the number of appliances by state. */
export const applianceUpgradeHooks: ResourceHooks<typeof applianceUpgrades> = {
  present(rows, { reader }) {
    const found = reader.all<{ pk: number; state: string; n: number }>(
      `SELECT appliance_upgrade_pk AS pk, state, COUNT(*) AS n FROM appliance_upgrade_turns
       WHERE appliance_upgrade_pk IN (SELECT value FROM json_each(?)) GROUP BY 1, 2`,
      JSON.stringify(rows.map(({ pk }) => pk)),
    );
    const counts = new Map<number, Record<string, number>>();
    for (const { pk, state, n } of found) counts.set(pk, { ...counts.get(pk), [state]: n });
    return rows.map(({ pk }) => ({ counts: { ...NONE, ...counts.get(pk) } }));
  },
};
