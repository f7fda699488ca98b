import type { DeliveryItem, PluginContext } from "#plugin-api";
import { sentence } from "./sentences.ts";
import type { SpeakerDriver } from "./speaker-driver.ts";

type Device = DeliveryItem["device"];

/** Sets the volume of devices for a message and restores it, also after a crash. */
export interface VolumeRestoration {
  /** Stores the current volume and sets a new one. Rejects if the volume cannot be read, stored or set. */
  setTemporarily(device: Device, driver: SpeakerDriver, value: string): Promise<void>;
  /** Restores a device's volume if it was changed; a device that does not respond is retried later. */
  restore(device: Device, driver: SpeakerDriver): Promise<void>;
  /** Restores all outstanding volumes, including those of an earlier run; skips devices for which `busy` is true. */
  restoreAll(driverOf: (device: Device) => SpeakerDriver, busy: (identifier: string) => boolean): Promise<void>;
}

interface OriginalVolume {
  device: Device;
  value: string;
}

/** Below the limit of plugin state values. */
const MAX_CHANGED = 900;
const INDEX_KEY = "changed";

/** Loads the outstanding volumes of earlier runs. */
export async function openVolumeRestoration(state: PluginContext["state"]): Promise<VolumeRestoration> {
  const changed = new Map<string, OriginalVolume>();
  for (const identifier of ((await state.get(INDEX_KEY)) as string[] | undefined) ?? []) {
    const original = (await state.get(stateKey(identifier))) as OriginalVolume | undefined;
    if (original) changed.set(identifier, original);
  }
  const writeIndex = (): Promise<void> => state.set(INDEX_KEY, [...changed.keys()]);
  const restore: VolumeRestoration["restore"] = async ({ deviceIdentifier }, driver) => {
    const original = changed.get(deviceIdentifier);
    if (!original || !driver.volume) return;
    await driver.volume.set(original.value);
    changed.delete(deviceIdentifier);
    await writeIndex();
    await state.set(stateKey(deviceIdentifier), undefined);
  };
  return {
    async setTemporarily(device, driver, value) {
      if (!driver.volume) return;
      const { deviceIdentifier } = device;
      if (!changed.has(deviceIdentifier)) {
        if (changed.size >= MAX_CHANGED) throw new RangeError(sentence("too-many-volumes"));
        const original = { device, value: await driver.volume.read() };
        // Stored before the change, so that a crash in between does not lose it.
        await state.set(stateKey(deviceIdentifier), original);
        changed.set(deviceIdentifier, original);
        await writeIndex();
      }
      await driver.volume.set(value);
    },
    restore,
    async restoreAll(driverOf, busy) {
      for (const { device } of [...changed.values()]) {
        if (busy(device.deviceIdentifier)) continue;
        try {
          await restore(device, driverOf(device));
        } catch {
          // Retried in the next round.
        }
      }
    },
  };
}

function stateKey(identifier: string): string {
  return `volume/${identifier}`.slice(0, 255);
}
