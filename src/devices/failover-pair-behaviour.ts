import { invalidValue } from "../base/errors.ts";
import type failoverPairs from "../resources/devices/failover-pairs.ts";
import type { Behaviour } from "../store/store.ts";

/** A pair is of two appliances. */
export const failoverPairBehaviour: Behaviour<typeof failoverPairs> = {
  beforeWrite({ after }) {
    if (after && after.primaryEndpointId === after.backupEndpointId) {
      throw invalidValue("backupEndpointId", "It is another appliance than the first.");
    }
  },
};
