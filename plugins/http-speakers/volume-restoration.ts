import type { DeliveryItem, PluginContext } from "#plugin-api";
import type { SpeakerDriver } from "./speaker-driver.ts";

type Device = DeliveryItem["device"];

/** Sets the volume of devices for a message, and gives them back their own: also after a crash. */
export interface VolumeRestoration {
  /** Sets a volume; what it was before is kept first. Rejects where it can't be read, kept or set. */
  setTemporarily(device: Device, driver: SpeakerDriver, value: string): Promise<void>;
  /** Gives a device its own volume back, if it was changed; one that does not answer is asked again later. */
  restore(device: Device, driver: SpeakerDriver): Promise<void>;
  /** Gives back what is still to be, such as what an earlier run left; `busy` says who is not to be touched. */
  restoreAll(driverOf: (device: Device) => SpeakerDriver, busy: (identifier: string) => boolean): Promise<void>;
}

interface OriginalVolume {
  device: Device;
  value: string;
}

/** own choice: as many values as a plugin may keep, less some. */
const MAX_CHANGED = 900;
const INDEX_KEY = "changed";

/** Reads what an earlier run has kept. */
export async function openVolumeRestoration(state: PluginContext["state"]): Promise<VolumeRestoration> {
  const changed = new Map<string, OriginalVolume>();
  for (const identifier of ((await state.get(INDEX_KEY)) as string[] | undefined) ?? []) {
    const kept = (await state.get(stateKey(identifier))) as OriginalVolume | undefined;
    if (kept) changed.set(identifier, kept);
  }
  const writeIndex = (): Promise<void> => state.set(INDEX_KEY, [...changed.keys()]);
  const restore: VolumeRestoration["restore"] = async ({ deviceIdentifier }, driver) => {
    const kept = changed.get(deviceIdentifier);
    if (!kept || !driver.volume) return;
    await driver.volume.set(kept.value);
    changed.delete(deviceIdentifier);
    await writeIndex();
    await state.set(stateKey(deviceIdentifier), undefined);
  };
  return {
    async setTemporarily(device, driver, value) {
      if (!driver.volume) return;
      const { deviceIdentifier } = device;
      if (!changed.has(deviceIdentifier)) {
        if (changed.size >= MAX_CHANGED) throw new RangeError("too many devices have another volume than their own");
        const kept = { device, value: await driver.volume.read() };
        // Kept before it is changed, or a crash in between would lose it.
        await state.set(stateKey(deviceIdentifier), kept);
        changed.set(deviceIdentifier, kept);
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
          // Asked again with the next round.
        }
      }
    },
  };
}

function stateKey(identifier: string): string {
  return `volume/${identifier}`.slice(0, 255);
}
