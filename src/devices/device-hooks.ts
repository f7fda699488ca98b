import { type CallerError, invalidValue } from "../lib/errors.ts";
import type devices from "../resources/devices/devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ResourceHooks } from "../store/store.ts";
import { createAttributeCheck, type DeviceTypeClaim } from "./attribute-rules.ts";
import { createLicenceCheck } from "./licence-filters.ts";

/** Name of the plugin that claims a kind of device by its identifier; null when none does. */
export type FindDeviceProvider = (type: string, deviceIdentifier: string) => string | null;

type Device = RowOf<typeof devices>;

/**
 * Gives a device its provider when it is made or named anew (claimed by nobody: CallerError for `type`) and its icopId
 * with every write: the MAC address of speakers and desktop notifiers that have one, else the identifier. The licence
 * filters of its appliance say with every write whether it is licensed. Its plugin says what its attributes must be. What an
 * appliance tells of its own devices is taken as it is: the cloud need not have each of its plugins. Shows the appliance as
 * `endpoint {id, name}` with includeEndpointDetails.
 * @source interfaces.md, Extensions, endpoints, devices
 */
export function deviceHooks(
  findProvider: FindDeviceProvider,
  claims: () => readonly DeviceTypeClaim[],
): ResourceHooks<typeof devices> {
  const includes = createLicenceCheck();
  const requireAttributes = createAttributeCheck(claims);
  return {
    beforeWrite({ before, after }, tx, by) {
      if (!after) return;
      after.attributes = parseAttributes(after.attributes);
      const icopId = icopIdOf(after);
      after.icopId = icopId;
      if (before?.type !== after.type || before.deviceIdentifier !== after.deviceIdentifier) {
        const provider = findProvider(after.type, after.deviceIdentifier);
        if (provider === null && !by.replicated) throw unservedError(after, claims());
        after.provider = provider ?? after.provider;
      }
      if (!by.replicated) requireAttributes(after, before);
      const { deviceIdentifier, description, type } = after;
      const attributes = after.attributes as Record<string, string>;
      const device = { pk: 0, icopId, deviceIdentifier, description, type, attributes };
      after.isLicensed = includes(tx, after.endpointId, device);
    },
    present(rows, { reader, query }) {
      const registered = rows.map(({ attributes }) => ({ isRegistered: isDeviceRegistered(attributes) }));
      if (query.includeEndpointDetails !== true) return registered;
      const ids = JSON.stringify([...new Set(rows.map(({ endpointId }) => endpointId))]);
      const lines = reader.all<{ id: string; name: string | null }>(
        "SELECT id, name FROM endpoints WHERE id IN (SELECT value FROM json_each(?))",
        ids,
      );
      const endpoints = new Map(lines.map((line) => [line.id, line]));
      return rows.map(({ endpointId }, at) => ({ ...registered[at], endpoint: endpoints.get(endpointId) ?? null }));
    },
  };
}

/** What its call manager or itself says of a device, by its attributes; null where nobody says it. */
export function isDeviceRegistered(attributes: unknown): boolean | null {
  const { IsRegistered, IsRegisteredSip } = (attributes ?? {}) as Record<string, string>;
  const word = (IsRegistered ?? IsRegisteredSip)?.toLowerCase();
  return word === "true" ? true : word === "false" ? false : null;
}

function unservedError({ type, deviceIdentifier }: Device, claims: readonly DeviceTypeClaim[]): CallerError {
  const patterns = claims.filter((claim) => claim.type === type).map(({ identifier }) => identifier);
  if (patterns.length === 0) return invalidValue("type", `Nothing serves ${type}.`);
  const why = `Nothing serves ${type} named ${deviceIdentifier}; it fits ${patterns.join(" or ")}.`;
  return invalidValue("deviceIdentifier", why);
}

/** The id by which groups name a device. own choice: a MAC address loses its separators and is written in capitals. */
function icopIdOf(device: Pick<Device, "type" | "deviceIdentifier" | "attributes">): string {
  if (device.type !== "speakers" && device.type !== "idns") return device.deviceIdentifier;
  const mac = (device.attributes as Record<string, string>).MACAddress?.replace(/[^0-9a-f]/gi, "").toUpperCase();
  return mac && mac.length === 12 ? mac : device.deviceIdentifier;
}

/** Attributes as a flat object of texts: numbers and booleans become texts, null removes; anything else is refused. */
function parseAttributes(input: unknown): Record<string, string> {
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
