import callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import extensions from "../resources/devices/extensions.ts";
import failoverPairs from "../resources/devices/failover-pairs.ts";
import { BUILT_IN_FEATURES, extensionFeature, FEATURES, type Feature } from "../resources/devices/features.ts";
import type { StoreReader } from "../store/store.ts";

/**
 * The enabled features and all supported features, in the order of the enumeration. Enabled are the built-in ones and
 * those of enabled extensions, `failover` if a failover pair exists and `callmgrEnabled` if a call manager cluster
 * exists.
 */
export function readFeatures(reader: StoreReader): { features: Feature[]; serverSupportedFeatures: Feature[] } {
  const enabled = new Set<Feature | null>(BUILT_IN_FEATURES);
  const supported = new Set<Feature | null>([...BUILT_IN_FEATURES, "failover", "callmgrEnabled"]);
  for (const { deviceType, plugin, disabled, globalDisabled } of reader.find(extensions, {})) {
    const feature = extensionFeature({ deviceType, plugin });
    supported.add(feature);
    if (!disabled && !globalDisabled) enabled.add(feature);
  }
  if (reader.count(failoverPairs, {}) > 0) enabled.add("failover");
  if (reader.count(callmgrClusters, {}) > 0) enabled.add("callmgrEnabled");
  const inOrder = (set: ReadonlySet<Feature | null>): Feature[] => FEATURES.filter((feature) => set.has(feature));
  return { features: inOrder(enabled), serverSupportedFeatures: inOrder(supported) };
}
