import { UpstreamError } from "../lib/errors.ts";

/** Why a cluster could not be read. */
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
 * A cluster or one of its nodes could not be read. `message` is for people: it names the host and what to do, never a secret.
 * `code` and `message` are plain values that cross thread boundaries.
 */
export class ClusterError extends UpstreamError {
  readonly code: ClusterErrorCode;

  constructor(code: ClusterErrorCode, message: string, cause?: unknown) {
    super("upstream", message, { code }, cause);
    this.code = code;
  }
}

/** Wraps any error as ClusterError; unknown errors become `answer`. */
export function toClusterError(error: unknown, where: string): ClusterError {
  if (error instanceof ClusterError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new ClusterError("answer", `${where}: ${text}`, error);
}
