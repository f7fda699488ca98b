import callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import extensions from "../resources/devices/extensions.ts";
import failoverPairs from "../resources/devices/failover-pairs.ts";
import { BUILT_IN_FEATURES, extensionFeature, FEATURES, type Feature } from "../resources/devices/features.ts";
import type { StoreReader } from "../store/store.ts";

/**
 * What is in use here, and what this software could do, each in the order of the words. own choice: in use is what an
 * extension that is switched on brings, `failover` where a pair is set up and `callmgrEnabled` where a cluster is.
 */
export function readFeatures(reader: StoreReader): { features: Feature[]; serverSupportedFeatures: Feature[] } {
  const used = new Set<Feature | null>(BUILT_IN_FEATURES);
  const able = new Set<Feature | null>([...BUILT_IN_FEATURES, "failover", "callmgrEnabled"]);
  for (const { deviceType, plugin, disabled, globalDisabled } of reader.find(extensions, {})) {
    const feature = extensionFeature({ deviceType, plugin });
    able.add(feature);
    if (!disabled && !globalDisabled) used.add(feature);
  }
  if (reader.count(failoverPairs, {}) > 0) used.add("failover");
  if (reader.count(callmgrClusters, {}) > 0) used.add("callmgrEnabled");
  const among = (set: ReadonlySet<Feature | null>): Feature[] => FEATURES.filter((feature) => set.has(feature));
  return { features: among(used), serverSupportedFeatures: among(able) };
}
