import { sentence } from "../../lib/sentences/sentences.ts";
import { ClusterError } from "../cluster-error.ts";

/** Authentication and encryption of an SNMPv3 user. */
export interface SnmpProtocols {
  authentication: "sha" | "sha224" | "sha256" | "sha384" | "sha512" | "md5";
  /** `aes256b` as in draft-blumenthal-aes-usm, `aes256r` as in draft-reeder-snmpv3-usm: they extend short keys differently. */
  encryption: "aes" | "aes256b" | "aes256r" | "des";
}

/** Most common first. A cluster has no field for the protocols, so they are discovered. @source docs/decisions/0205-call-manager.md, SNMP */
const AUTHENTICATIONS: readonly SnmpProtocols["authentication"][] = [
  "sha",
  "sha256",
  "sha512",
  "sha224",
  "sha384",
  "md5",
];
const ENCRYPTIONS: readonly SnmpProtocols["encryption"][] = ["aes", "aes256b", "aes256r"];

export function formatProtocols({ authentication, encryption }: SnmpProtocols): string {
  const names = { aes: "AES-128", aes256b: "AES-256 (Blumenthal)", aes256r: "AES-256 (Reeder)", des: "DES" };
  return `${authentication.toUpperCase().replace("SHA", "SHA-").replace(/-$/, "-1")} and ${names[encryption]}`;
}

/**
 * Discovers the protocols of an agent: `attempt` sends a request with given protocols and throws on refusal; `likely` are
 * tried first. Throws ClusterError: the last refusal if none is accepted, or at once for any other error.
 */
export async function discoverProtocols(
  attempt: (protocols: SnmpProtocols, isFirst: boolean) => Promise<void>,
  { allowDes, node, likely }: { allowDes: boolean; node: string; likely: SnmpProtocols | null },
): Promise<SnmpProtocols> {
  const faultOf = (protocols: SnmpProtocols, isFirst: boolean): Promise<ClusterError | null> =>
    attempt(protocols, isFirst).then(
      () => null,
      (error: unknown) => error as ClusterError,
    );
  if (likely && (await faultOf(likely, true)) === null) return likely;
  const encryptions = allowDes ? [...ENCRYPTIONS, "des" as const] : ENCRYPTIONS;
  for (const authentication of AUTHENTICATIONS) {
    for (const encryption of encryptions) {
      const isFirst = authentication === "sha" && encryption === "aes";
      const refusal = await faultOf({ authentication, encryption }, isFirst);
      if (refusal === null) return { authentication, encryption };
      if (isAuthPasswordError(refusal)) break;
      // An agent that cannot decrypt either says so or stays silent; one that is silent at the first request is unreachable.
      if (refusal.code !== "snmp-encryption" && (refusal.code !== "snmp-timeout" || isFirst)) throw refusal;
      if (encryption === encryptions.at(-1)) throw noEncryptionError(node, allowDes);
    }
  }
  const message = sentence("cluster.snmp-auth-all", { node, protocols: AUTHENTICATIONS.join(", ") });
  throw new ClusterError("snmp-credentials", message);
}

function isAuthPasswordError({ code, message }: ClusterError): boolean {
  return code === "snmp-credentials" && message.includes("snmpAuthPassword");
}

function noEncryptionError(node: string, allowDes: boolean): ClusterError {
  const code = allowDes ? "cluster.snmp-encryption-all" : "cluster.snmp-encryption-aes";
  return new ClusterError("snmp-encryption", sentence(code, { node }));
}
