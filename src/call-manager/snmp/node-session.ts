import snmp, { type Session, type SessionOptions, type User, type Varbind } from "net-snmp";
import type { AddressPolicy } from "../../base/address-policy.ts";
import { ClusterFault } from "../cluster-fault.ts";
import type { SnmpAccess } from "../reading.ts";
import { type Protocols, protocolWords } from "./protocols.ts";

/** How long an agent is waited for, and how often it is asked once more. */
const PATIENCE = { timeout: 3_000, retries: 1 };
/** An agent that is known to answer, and does not when it can't decrypt. */
const IMPATIENCE = { timeout: 1_000, retries: 0 };

/** What asking nodes needs. */
export interface SnmpNeeds {
  policy: AddressPolicy;
  signal: AbortSignal;
  /** Port of the agents. */
  port: number;
}

/** Questions to the agent of one node. */
export interface NodeSession {
  readonly node: string;
  /** Values by the given names, null for what the agent does not have. Throws ClusterFault. */
  get(oids: readonly string[]): Promise<(Varbind["value"] | null)[]>;
  /** What follows each of the names, at most `repetitions` values of each. Throws ClusterFault. */
  following(oids: readonly string[], repetitions: number): Promise<Varbind[][]>;
  close(): void;
}

/** Opens a session; `protocols` are those of version 3, `isTrial` true where they are guessed. Throws ClusterFault `dns`. */
export async function openNode(
  node: string,
  access: SnmpAccess,
  protocols: Protocols | null,
  needs: SnmpNeeds,
  isTrial = false,
): Promise<NodeSession> {
  const { policy, signal, port } = needs;
  const { address, family } = await policy.choose(node).catch((error: Error) => {
    throw new ClusterFault("dns", error.message, error);
  });
  const patience = isTrial ? IMPATIENCE : PATIENCE;
  const options = { port, ...patience, transport: family === 6 ? "udp6" : "udp4" } as const;
  const session = open(address, access, protocols, options);
  // Without a listener the library's own trouble would end the thread.
  (session as unknown as NodeJS.EventEmitter).on("error", () => undefined);
  const onAbort = (): void => void session.close();
  signal.addEventListener("abort", onAbort, { once: true });
  const fail = (error: Error): ClusterFault => faultOf(error, node, port, access, protocols);
  return {
    node,
    get: (oids) =>
      new Promise((fulfil, reject) => {
        session.get([...oids], (error: Error | null, varbinds?: Varbind[]) => {
          if (error || !varbinds) return reject(fail(error ?? new ClusterFault("snmp-answer", node)));
          fulfil(varbinds.map((each) => (snmp.isVarbindError(each) ? null : (each.value ?? null))));
        });
      }),
    following: (oids, repetitions) =>
      new Promise((fulfil, reject) => {
        session.getBulk([...oids], 0, repetitions, (error: Error | null, varbinds?: (Varbind | Varbind[])[]) => {
          if (error || !varbinds) return reject(fail(error ?? new ClusterFault("snmp-answer", node)));
          fulfil(varbinds.map((each) => [each].flat()));
        });
      }),
    close() {
      signal.removeEventListener("abort", onAbort);
      session.close();
    },
  };
}

function open(address: string, access: SnmpAccess, protocols: Protocols | null, options: SessionOptions): Session {
  if (access.version === 2)
    return snmp.createSession(address, access.community, { ...options, version: snmp.Version2c });
  const user = {
    name: access.user,
    level: snmp.SecurityLevel.authPriv,
    authProtocol: snmp.AuthProtocols[protocols?.authentication ?? "sha"],
    authKey: access.authPassword,
    privProtocol: snmp.PrivProtocols[protocols?.encryption ?? "aes"],
    privKey: access.encryptPassword,
  } as User;
  const { port, timeout, retries, transport } = options;
  return snmp.createV3Session(address, user, { port, timeout, retries, transport } as object);
}

function faultOf(
  error: Error,
  node: string,
  port: number,
  access: SnmpAccess,
  protocols: Protocols | null,
): ClusterFault {
  if (error instanceof ClusterFault) return error;
  const { name, message } = error;
  if (name === "RequestTimedOutError") {
    const hint = access.version === 2 ? " It is off, unreachable, or its community is another one." : "";
    return new ClusterFault(
      "snmp-timeout",
      `Node ${node} gives no answer to SNMP (UDP ${port}) in time.${hint}`,
      error,
    );
  }
  if (access.version === 3 && /Unknown User Name/i.test(message))
    return new ClusterFault("snmp-credentials", `Node ${node} does not know the SNMP user ${access.user}.`, error);
  if (/Wrong Digest/i.test(message))
    return new ClusterFault(
      "snmp-credentials",
      `Node ${node} refuses snmpAuthPassword${protocols ? ` with ${protocolWords(protocols)}` : ""}.`,
      error,
    );
  if (/Decrypt/i.test(message))
    return new ClusterFault(
      "snmp-encryption",
      `Node ${node} refuses snmpEncryptPassword${protocols ? ` with ${protocolWords(protocols)}` : ""}.`,
      error,
    );
  if (/Unsupported Security Level/i.test(message))
    return new ClusterFault("snmp-encryption", `Node ${node} does not let its SNMP user encrypt.`, error);
  if (/closed/i.test(message)) return new ClusterFault("stopped", `${node}: called off`, error);
  return new ClusterFault("snmp-answer", `Node ${node} answers SNMP with: ${message}.`, error);
}
