import { invalidValue } from "../base/errors.ts";
import type devices from "../resources/devices/devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Behaviour } from "../store/store.ts";

/** Name of the plugin that claims a kind of device by its identifier; null when none does. */
export type FindProvider = (type: string, deviceIdentifier: string) => string | null;

type Device = RowOf<typeof devices>;

/**
 * Gives a device its provider when it is made (claimed by nobody: CallerError for `type`) and its icopId with every
 * write: the MAC address of speakers and desktop notifiers that have one, else the identifier.
 * @source interfaces.md, Extensions, endpoints, devices
 */
export function deviceBehaviour(findProvider: FindProvider): Behaviour<typeof devices> {
  return {
    beforeWrite({ op, after }) {
      if (!after) return;
      after.attributes = textAttributes(after.attributes);
      after.icopId = icopIdOf(after);
      if (op !== "create") return;
      const provider = findProvider(after.type, after.deviceIdentifier);
      if (provider === null)
        throw invalidValue("type", `Nothing serves ${after.type} named ${after.deviceIdentifier}.`);
      after.provider = provider;
    },
  };
}

/** The id by which groups name a device. own choice: a MAC address loses its separators and is written in capitals. */
function icopIdOf(device: Pick<Device, "type" | "deviceIdentifier" | "attributes">): string {
  if (device.type !== "speakers" && device.type !== "idns") return device.deviceIdentifier;
  const mac = (device.attributes as Record<string, string>).MACAddress?.replace(/[^0-9a-f]/gi, "").toUpperCase();
  return mac && mac.length === 12 ? mac : device.deviceIdentifier;
}

/** Attributes as a flat object of texts: numbers and booleans become texts, null removes; anything else is refused. */
function textAttributes(input: unknown): Record<string, string> {
  if (input === null || input === undefined) return {};
  if (typeof input !== "object" || Array.isArray(input)) throw invalidValue("attributes", "An object is expected.");
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(input)) {
    if (value === null) continue;
    if (typeof value === "object") throw invalidValue("attributes", `The value of ${name} is no text.`);
    texts[name] = String(value);
  }
  return texts;
}
