import { derivedId } from "../lib/ids.ts";
import type { PluginManifest } from "../plugin-api/index.ts";
import extensions from "../resources/devices/extensions.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";

/**
 * Id of a plugin's extension row, the same in every installation.
 * @source docs/decisions/0018-plugin-api.md, Devices and claims
 */
export function extensionIdOf(plugin: string): string {
  return derivedId("extension", plugin);
}

/** Creates missing extension rows and updates what derives from the manifest. */
export async function writeExtensionRows(
  manifests: readonly PluginManifest[],
  store: Store,
  by: ActorContext,
): Promise<void> {
  await store.write((tx) => {
    for (const manifest of manifests) writeRow(manifest, tx, by);
  });
}

function writeRow(manifest: PluginManifest, tx: Transaction, by: ActorContext): void {
  const { name, extensionType: type, deviceType = null, failureCode = null, enabledByDefault } = manifest;
  const id = extensionIdOf(name);
  const row = tx.get(extensions, id);
  if (!row) {
    const input = { name, type, deviceType, failureCode, disabled: !enabledByDefault };
    tx.create(extensions, input, by, { id, plugin: name });
  } else if (row.type !== type || row.deviceType !== deviceType)
    tx.update(extensions, id, {}, by, { type, deviceType });
}
