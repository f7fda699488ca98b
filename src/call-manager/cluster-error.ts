import { UpstreamError } from "../lib/errors.ts";

/** What kept a cluster from being read, in one word; the words for people stand beside it. */
export type ClusterErrorCode =
  | "dns"
  | "connect"
  | "tls"
  | "credentials"
  | "role"
  | "not-there"
  | "version"
  | "busy"
  | "rows"
  | "answer"
  | "too-long"
  | "timeout"
  | "fault"
  | "nodes"
  | "snmp-timeout"
  | "snmp-credentials"
  | "snmp-encryption"
  | "snmp-answer"
  | "stopped";

/**
 * A cluster, or one of its nodes, could not be read. `message` is for people: it names the host and what to do, never a
 * secret. Plain enough to be told across threads by `code` and `message`.
 */
export class ClusterError extends UpstreamError {
  readonly code: ClusterErrorCode;

  constructor(code: ClusterErrorCode, message: string, cause?: unknown) {
    super("upstream", message, { code }, cause);
    this.code = code;
  }
}

/** Any error as a fault of the cluster: what is none yet is told as an answer that can't be understood. */
export function toClusterError(error: unknown, where: string): ClusterError {
  if (error instanceof ClusterError) return error;
  const words = error instanceof Error ? error.message : String(error);
  return new ClusterError("answer", `${where}: ${words}`, error);
}
