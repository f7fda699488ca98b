import type { Log } from "../base/log.ts";
import userDevices from "../resources/people/user-devices.ts";
import type { By, Store, Sync } from "../store/store.ts";
import type { Delivery } from "./delivery.ts";
import type { Outcome } from "./providers.ts";

/** Longest reason that is kept. */
const MOST_REASON = 250;

/** Switches a person's device off of which its channel says that there is no such device any more; others are left alone. */
export function switchOff(
  { userDevice }: Pick<Delivery, "userDevice">,
  { details }: Pick<Outcome, "details">,
  { store, log, by }: { store: Store; log: Log; by: By },
): void {
  const row = userDevice === null ? null : store.byPk(userDevices, userDevice);
  if (!row) return;
  const disabledReason = (details.reason ?? "There is no such device any more.").slice(0, MOST_REASON);
  store
    .write((tx) => {
      // It may have been removed, or registered anew, meanwhile.
      const now = tx.get(userDevices, row.id);
      const isSame = now?.deviceIdentifier === row.deviceIdentifier && !now.disabled;
      if (isSame) tx.update(userDevices, row.id, { disabled: true }, by, { disabledReason });
      return undefined as Sync<undefined>;
    })
    .catch((error) => log.error({ err: error, userDevice: row.id }, "a device that is gone was not switched off"));
}
