import { type CallerError, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type devices from "../resources/devices/devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ResourceHooks } from "../store/store.ts";
import { createAttributeCheck, type DeviceTypeClaim } from "./attribute-rules.ts";
import { createLicenceCheck } from "./licence-filters.ts";

/** Name of the plugin that claims a device type and identifier; null if none does. */
export type FindDeviceProvider = (type: string, deviceIdentifier: string) => string | null;

type Device = RowOf<typeof devices>;

/**
 * Sets the provider of a device when it is created or renamed (CallerError for `type` if no plugin claims it) and its icopId on
 * every write: the MAC address of speakers and desktop notifiers that have one, else the identifier. Evaluates the licence
 * filters of its appliance on every write. The plugin's rules validate its attributes. Replicated devices of an appliance
 * are accepted without a plugin: the cloud need not have the same plugins. Serializes the appliance as `endpoint {id, name}`
 * with includeEndpointDetails.
 * @source docs/decisions/0012-extensions-and-endpoints.md
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

/** Registration state of a device from its attributes; null if it reports none. */
export function isDeviceRegistered(attributes: unknown): boolean | null {
  const { IsRegistered, IsRegisteredSip } = (attributes ?? {}) as Record<string, string>;
  const word = (IsRegistered ?? IsRegisteredSip)?.toLowerCase();
  return word === "true" ? true : word === "false" ? false : null;
}

function unservedError({ type, deviceIdentifier }: Device, claims: readonly DeviceTypeClaim[]): CallerError {
  const patterns = claims.filter((claim) => claim.type === type).map(({ identifier }) => identifier);
  if (patterns.length === 0) return invalidValue("type", sentence("field.no-plugin-serves-the-type-type", { type }));
  const message = sentence("error.no-plugin-serves-type-with-the-identifier-identifier-it-must-match-patterns", {
    type,
    identifier: deviceIdentifier,
    patterns: patterns.join(" or "),
  });
  return invalidValue("deviceIdentifier", message);
}

/** The id by which groups name a device. A MAC address is written without separators in capital letters. */
function icopIdOf(device: Pick<Device, "type" | "deviceIdentifier" | "attributes">): string {
  if (device.type !== "speakers" && device.type !== "idns") return device.deviceIdentifier;
  const mac = (device.attributes as Record<string, string>).MACAddress?.replace(/[^0-9a-f]/gi, "").toUpperCase();
  return mac && mac.length === 12 ? mac : device.deviceIdentifier;
}

/** Attributes as a flat object of strings: numbers and booleans are converted, null removes; other values are rejected. */
function parseAttributes(input: unknown): Record<string, string> {
  if (input === null || input === undefined) return {};
  if (typeof input !== "object" || Array.isArray(input))
    throw invalidValue("attributes", sentence("field.must-be-an-object"));
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(input)) {
    if (value === null) continue;
    if (typeof value === "object")
      throw invalidValue(
        "attributes",
        sentence("field.the-value-of-name-must-be-a-string-a-number-or-a-boolean", { name }),
      );
    texts[name] = String(value);
  }
  return texts;
}
