import type { Log } from "../../lib/log.ts";
import userDevices from "../../resources/people/user-devices.ts";
import type { ActorContext, Store, Sync } from "../../store/store.ts";
import type { Delivery } from "./delivery.ts";
import type { DeliveryOutcome } from "./delivery-providers.ts";

/** Longest reason that is kept. */
const MOST_REASON = 250;

/** Switches a person's device off of which its channel says that there is no such device any more; others are left alone. */
export function deactivateUserDevice(
  { userDevice }: Pick<Delivery, "userDevice">,
  { details }: Pick<DeliveryOutcome, "details">,
  { store, log, by }: { store: Store; log: Log; by: ActorContext },
): void {
  const row = userDevice === null ? null : store.getByPk(userDevices, userDevice);
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
