import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type failoverPairs from "../resources/devices/failover-pairs.ts";
import type { ResourceHooks } from "../store/store.ts";

/** A failover pair must consist of two different appliances. */
export const failoverPairHooks: ResourceHooks<typeof failoverPairs> = {
  beforeWrite({ after }) {
    if (after && after.primaryEndpointId === after.backupEndpointId) {
      throw invalidValue("backupEndpointId", sentence("field.must-be-a-different-appliance-than-the-primary"));
    }
  },
};
