import { invalidValue } from "../lib/errors.ts";
import type failoverPairs from "../resources/devices/failover-pairs.ts";
import type { ResourceHooks } from "../store/store.ts";

/** A pair is of two appliances. */
export const failoverPairHooks: ResourceHooks<typeof failoverPairs> = {
  beforeWrite({ after }) {
    if (after && after.primaryEndpointId === after.backupEndpointId) {
      throw invalidValue("backupEndpointId", "It is another appliance than the first.");
    }
  },
};
