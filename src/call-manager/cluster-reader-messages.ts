import type { ClusterErrorCode } from "./cluster-error.ts";
import type { ClusterReader, ClusterReaderDeps, ReadingProgress } from "./cluster-reader.ts";

/** What the reading thread is started with. */
export interface ClusterReaderSettings extends Pick<ClusterReaderDeps, "authorities" | "snmpPort" | "allowDes"> {
  allowedTargets: readonly string[];
}

/** A call to the reading thread. */
export interface ClusterReaderCall {
  id: number;
  method: keyof ClusterReader;
  args: readonly unknown[];
}

/** What the reading thread says: the end of a call, or how far a reading got. */
export type ClusterReaderReply =
  | { id: number; value: unknown }
  | { id: number; fault: { code: ClusterErrorCode; message: string } }
  | { clusterId: string; progress: ReadingProgress };
