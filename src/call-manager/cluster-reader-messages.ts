import type { ClusterErrorCode } from "./cluster-error.ts";
import type { ClusterReader, ClusterReaderDeps, ReadingProgress } from "./cluster-reader.ts";

/** Start parameters of the reader thread. */
export interface ClusterReaderSettings extends Pick<ClusterReaderDeps, "authorities" | "snmpPort" | "allowDes"> {
  allowedTargets: readonly string[];
}

/** A call to the reader thread. */
export interface ClusterReaderCall {
  id: number;
  method: keyof ClusterReader;
  args: readonly unknown[];
}

/** Messages of the reader thread: result of a call, or progress of a reading. */
export type ClusterReaderReply =
  | { id: number; value: unknown }
  | { id: number; fault: { code: ClusterErrorCode; message: string } }
  | { clusterId: string; progress: ReadingProgress };
