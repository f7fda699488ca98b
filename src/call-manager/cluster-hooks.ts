import { isIP } from "node:net";
import { invalidValue, requiredValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { assertHostAllowed, type SsrfGuard } from "../lib/ssrf-guard.ts";
import type callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ResourceHooks, StoreReader } from "../store/store.ts";

/** Fields that each SNMP version requires. @source docs/decisions/0013-other-resources.md, Clusters */
const REQUIRED_FIELDS = {
  "2": ["snmpCommunity"],
  "3": ["snmpUsername", "snmpAuthPassword", "snmpEncryptPassword"],
} as const satisfies Record<string, readonly (keyof RowOf<typeof callmgrClusters>)[]>;

const FINGERPRINT = /^([0-9a-f]{2}:?){31}[0-9a-f]{2}$/i;

/** Validates the SNMP fields and the hosts of a cluster; serializes the appliances that serve it. */
export function clusterHooks(policy: SsrfGuard): ResourceHooks<typeof callmgrClusters> {
  return {
    async prepare(input) {
      for (const field of ["axlAddress", "capfAddress", "tftpAddress"]) await validateHost(field, input[field], policy);
      const { nextAuthenticationUrl: url, axlFingerprint: fingerprint } = input;
      if (typeof fingerprint === "string" && fingerprint !== "" && !FINGERPRINT.test(fingerprint))
        throw invalidValue("axlFingerprint", sentence("field.must-be-32-pairs-of-hex-digits-with-or-without-colons"));
      if (typeof url !== "string" || !URL.canParse(url)) return;
      await assertHostAllowed("nextAuthenticationUrl", new URL(url).hostname, policy);
    },
    beforeWrite({ after }, _tx, by) {
      // Secrets are not replicated: a missing one is reported as a health reason.
      if (!after || by.replicated) return;
      for (const field of REQUIRED_FIELDS[after.snmpVersion]) {
        if (after[field] === null || after[field] === "") throw requiredValue(field);
      }
    },
    present(rows, { reader }) {
      const servers = serversByCluster(
        reader,
        rows.map(({ pk }) => pk),
      );
      return rows.map(({ pk }) => ({ callmgrClusterOnpremServers: servers.get(pk) ?? [] }));
    },
  };
}

/** Throws CallerError unless `value` is empty or a host, with or without a port, that the SSRF guard allows. */
export async function validateHost(field: string, value: unknown, policy: SsrfGuard): Promise<void> {
  if (typeof value !== "string" || value === "") return;
  const host = parseHost(value);
  if (host === null)
    throw invalidValue(field, sentence("field.must-be-a-host-name-or-an-ip-address-with-or-without-a-port"));
  await assertHostAllowed(field, host, policy);
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})?(\.[a-z0-9_]([a-z0-9_-]{0,62})?)*\.?$/i;

/** Host of `host`, `host:port`, `[address]` or `[address]:port`; null if invalid. */
function parseHost(text: string): string | null {
  if (isIP(text) !== 0) return text;
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return null;
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? bracketed : null;
  return plain !== undefined && (isIP(plain) === 4 || HOST_NAME.test(plain)) ? plain : null;
}

function serversByCluster(reader: StoreReader, clusters: readonly number[]): ReadonlyMap<number, object[]> {
  const lines = reader.all<{
    cluster: number;
    id: string;
    endpoint: string;
    name: string | null;
    gathers: number | null;
    cti: number | null;
  }>(
    `SELECT s.cucm_cluster_pk AS cluster, s.id, e.id AS endpoint, e.name, s.is_phone_gatherer AS gathers,
       s.make_cti_connection AS cti
     FROM callmgr_onprem_servers s JOIN endpoints e ON e.pk = s.endpoint_pk
     WHERE s.cucm_cluster_pk IN (SELECT value FROM json_each(?)) ORDER BY s.pk`,
    JSON.stringify(clusters),
  );
  const found = new Map<number, object[]>();
  for (const line of lines) {
    const servers = found.get(line.cluster) ?? [];
    servers.push({
      callmgrClusterOnpremServerId: line.id,
      endpointId: line.endpoint,
      endpointName: line.name,
      isPhoneGatherer: line.gathers === 1,
      makeCtiConnection: line.cti === 1,
    });
    found.set(line.cluster, servers);
  }
  return found;
}
