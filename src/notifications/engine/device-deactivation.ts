import type { Log } from "../../lib/log.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import userDevices from "../../resources/people/user-devices.ts";
import type { ActorContext, Store, Sync } from "../../store/store.ts";
import type { Delivery } from "./delivery.ts";
import type { DeliveryOutcome } from "./delivery-providers.ts";

/** Maximum length of the stored reason. */
const MAX_REASON_LENGTH = 250;

/** Disables a user device that its channel reports as gone; has no effect otherwise. */
export function deactivateUserDevice(
  { userDevice }: Pick<Delivery, "userDevice">,
  { details }: Pick<DeliveryOutcome, "details">,
  { store, log, by }: { store: Store; log: Log; by: ActorContext },
): void {
  const row = userDevice === null ? null : store.getByPk(userDevices, userDevice);
  if (!row) return;
  const disabledReason = (details.reason ?? sentence("delivery.device-gone")).slice(0, MAX_REASON_LENGTH);
  store
    .write((tx) => {
      // It may have been removed or registered again in the meantime.
      const now = tx.get(userDevices, row.id);
      const isSame = now?.deviceIdentifier === row.deviceIdentifier && !now.disabled;
      if (isSame) tx.update(userDevices, row.id, { disabled: true }, by, { disabledReason });
      return undefined as Sync<undefined>;
    })
    .catch((error) =>
      log.error(
        { event: "device.deactivation_failed", err: error, userDevice: row.id },
        "Device that no longer exists could not be disabled.",
      ),
    );
}
