import type apiDevices from "../resources/places/api-devices.ts";
import type { ResourceHooks, StoreReader } from "../store/store.ts";
import { assertConsistentLocation } from "./location-consistency.ts";

/**
 * Validates the location of an API device; a zone implies its floor.
 * @source docs/decisions/0007-scenarios.md, Unknown API device
 */
export const apiDeviceHooks: ResourceHooks<typeof apiDevices> = {
  beforeWrite({ after }, tx) {
    if (!after) return;
    const { siteId, buildingId, floorId, zoneId } = after;
    const whole = assertConsistentLocation({ siteId, buildingId, floorId, zoneId }, tx, (level) => `${level}Id`);
    after.floorId = whole.floorId;
  },
  present(rows, { reader, scope, query }) {
    const found = reader.all<{ site: string; id: string; name: string }>(
      `SELECT s.id AS site, d.id, d.name FROM sites s JOIN domains d ON d.pk = s.domain_pk
       WHERE s.id IN (SELECT value FROM json_each(?))`,
      JSON.stringify([...new Set(rows.map(({ siteId }) => siteId))]),
    );
    const domains = new Map(
      found.filter(({ id }) => scope.canReference(id)).map(({ site, ...domain }) => [site, domain]),
    );
    return rows.map(({ siteId }) => {
      const domain = domains.get(siteId) ?? null;
      return { domainId: domain?.id ?? null, ...(query.includeDomain === true ? { domain } : {}) };
    });
  },
};

/** Internal keys of the devices whose sites belong to a domain. */
export function apiDeviceKeysOfDomain(reader: StoreReader, domainId: string): number[] {
  const lines = reader.all<{ pk: number }>(
    `SELECT a.pk FROM api_devices a JOIN sites s ON s.pk = a.site_pk JOIN domains d ON d.pk = s.domain_pk
     WHERE d.id = ?`,
    domainId,
  );
  return lines.map(({ pk }) => pk);
}
