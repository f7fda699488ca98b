import { ClusterError } from "../cluster-error.ts";

/** How an SNMP version 3 user is known and what its messages are encrypted by. */
export interface SnmpProtocols {
  authentication: "sha" | "sha224" | "sha256" | "sha384" | "sha512" | "md5";
  /** `aes256b` as in draft-blumenthal-aes-usm, `aes256r` as in draft-reeder-snmpv3-usm: they stretch short keys in different ways. */
  encryption: "aes" | "aes256b" | "aes256r" | "des";
}

/** The usual ones first. own choice: a cluster has no field for them, so they are tried until one is taken. */
const AUTHENTICATIONS: readonly SnmpProtocols["authentication"][] = [
  "sha",
  "sha256",
  "sha512",
  "sha224",
  "sha384",
  "md5",
];
const ENCRYPTIONS: readonly SnmpProtocols["encryption"][] = ["aes", "aes256b", "aes256r"];

/** The protocols in words. */
export function formatProtocols({ authentication, encryption }: SnmpProtocols): string {
  const names = { aes: "AES-128", aes256b: "AES-256 (Blumenthal)", aes256r: "AES-256 (Reeder)", des: "DES" };
  return `${authentication.toUpperCase().replace("SHA", "SHA-").replace(/-$/, "-1")} and ${names[encryption]}`;
}

/**
 * Finds the protocols that an agent takes: `attempt` asks it with some and throws what it answers; `likely` are tried
 * first. Throws ClusterFault: what was refused last when nothing is taken, at once when something else is wrong.
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
      const fault = await faultOf({ authentication, encryption }, isFirst);
      if (fault === null) return { authentication, encryption };
      if (isAuthPasswordError(fault)) break;
      // An agent that can't decrypt says so, or nothing at all; one that says nothing to the first question is not there.
      if (fault.code !== "snmp-encryption" && (fault.code !== "snmp-timeout" || isFirst)) throw fault;
      if (encryption === encryptions.at(-1)) throw noEncryptionError(node, allowDes);
    }
  }
  const words = `Node ${node} refuses snmpAuthPassword with each of ${AUTHENTICATIONS.join(", ")}.`;
  throw new ClusterError("snmp-credentials", words);
}

function isAuthPasswordError({ code, message }: ClusterError): boolean {
  return code === "snmp-credentials" && message.includes("snmpAuthPassword");
}

function noEncryptionError(node: string, allowDes: boolean): ClusterError {
  const des = allowDes
    ? ""
    : " DES is broken and not tried: let the node use AES, or switch callManagers.allowDes on in the settings.";
  return new ClusterError(
    "snmp-encryption",
    `Node ${node} refuses snmpEncryptPassword with AES-128 and AES-256.${des}`,
  );
}
