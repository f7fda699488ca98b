import snmp, { type Session, type SessionOptions, type User, type Varbind } from "net-snmp";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { SsrfGuard } from "../../lib/ssrf-guard.ts";
import { ClusterError } from "../cluster-error.ts";
import type { SnmpAccess } from "../cluster-types.ts";
import { formatProtocols, type SnmpProtocols } from "./protocol-discovery.ts";

/** Timeout (ms) and retries of an SNMP request. */
const TIMEOUT_OPTIONS = { timeout: 3_000, retries: 1 };
/** For an agent that is known to respond, but stays silent if it cannot decrypt. */
const TRIAL_TIMEOUT_OPTIONS = { timeout: 1_000, retries: 0 };

export interface SnmpDeps {
  policy: SsrfGuard;
  signal: AbortSignal;
  /** UDP port of the agents. */
  port: number;
}

/** SNMP session with one node. */
export interface NodeSession {
  readonly node: string;
  /** Values of the OIDs, null for missing ones. Throws ClusterError. */
  get(oids: readonly string[]): Promise<(Varbind["value"] | null)[]>;
  /** GETBULK: values that follow each OID, at most `repetitions` each. Throws ClusterError. */
  getBulk(oids: readonly string[], repetitions: number): Promise<Varbind[][]>;
  close(): void;
}

/** Opens a session; `protocols` for version 3, `isTrial` while they are being discovered. Throws ClusterError `dns`. */
export async function openNodeSession(
  node: string,
  access: SnmpAccess,
  protocols: SnmpProtocols | null,
  deps: SnmpDeps,
  isTrial = false,
): Promise<NodeSession> {
  const { policy, signal, port } = deps;
  const { address, family } = await policy.resolveAllowed(node).catch((error: Error) => {
    throw new ClusterError("dns", error.message, error);
  });
  const timeoutOptions = isTrial ? TRIAL_TIMEOUT_OPTIONS : TIMEOUT_OPTIONS;
  const options = { port, ...timeoutOptions, transport: family === 6 ? "udp6" : "udp4" } as const;
  const session = openSnmpSession(address, access, protocols, options);
  // Without a listener, an error event of the library would end the thread.
  (session as unknown as NodeJS.EventEmitter).on("error", () => undefined);
  const onAbort = (): void => void session.close();
  signal.addEventListener("abort", onAbort, { once: true });
  const fail = (error: Error): ClusterError => toSnmpError(error, node, port, access, protocols);
  return {
    node,
    get: (oids) =>
      new Promise((fulfil, reject) => {
        session.get([...oids], (error: Error | null, varbinds?: Varbind[]) => {
          if (error || !varbinds) return reject(fail(error ?? new ClusterError("snmp-answer", node)));
          fulfil(varbinds.map((each) => (snmp.isVarbindError(each) ? null : (each.value ?? null))));
        });
      }),
    getBulk: (oids, repetitions) =>
      new Promise((fulfil, reject) => {
        session.getBulk([...oids], 0, repetitions, (error: Error | null, varbinds?: (Varbind | Varbind[])[]) => {
          if (error || !varbinds) return reject(fail(error ?? new ClusterError("snmp-answer", node)));
          fulfil(varbinds.map((each) => [each].flat()));
        });
      }),
    close() {
      signal.removeEventListener("abort", onAbort);
      session.close();
    },
  };
}

function openSnmpSession(
  address: string,
  access: SnmpAccess,
  protocols: SnmpProtocols | null,
  options: SessionOptions,
): Session {
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

function toSnmpError(
  error: Error,
  node: string,
  port: number,
  access: SnmpAccess,
  protocols: SnmpProtocols | null,
): ClusterError {
  if (error instanceof ClusterError) return error;
  const { name, message } = error;
  if (name === "RequestTimedOutError") {
    const sentenceCode = access.version === 2 ? "cluster.snmp-timeout-community" : "cluster.snmp-timeout";
    return new ClusterError("snmp-timeout", sentence(sentenceCode, { node, port: String(port) }), error);
  }
  if (access.version === 3 && /Unknown User Name/i.test(message))
    return new ClusterError("snmp-credentials", sentence("cluster.snmp-user", { node, user: access.user }), error);
  if (/Wrong Digest/i.test(message))
    return new ClusterError(
      "snmp-credentials",
      protocols
        ? sentence("cluster.snmp-auth-with", { node, protocols: formatProtocols(protocols) })
        : sentence("cluster.snmp-auth", { node }),
      error,
    );
  if (/Decrypt/i.test(message))
    return new ClusterError(
      "snmp-encryption",
      protocols
        ? sentence("cluster.snmp-encryption-with", { node, protocols: formatProtocols(protocols) })
        : sentence("cluster.snmp-encryption", { node }),
      error,
    );
  if (/Unsupported Security Level/i.test(message))
    return new ClusterError("snmp-encryption", sentence("cluster.snmp-no-encryption", { node }), error);
  if (/closed/i.test(message)) return new ClusterError("stopped", `${node}: cancelled`, error);
  return new ClusterError("snmp-answer", sentence("cluster.snmp-error", { node, message }), error);
}
