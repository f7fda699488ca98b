import type { FaultCode } from "./cluster-fault.ts";
import type { ClusterReader, GatheringNeeds, ReadingProgress } from "./gathering.ts";

/** What the reading thread is started with. */
export interface GatherSettings extends Pick<GatheringNeeds, "authorities" | "snmpPort" | "allowDes"> {
  allowedTargets: readonly string[];
}

/** A call to the reading thread. */
export interface GatherCall {
  id: number;
  method: keyof ClusterReader;
  args: readonly unknown[];
}

/** What the reading thread says: the end of a call, or how far a reading got. */
export type GatherReply =
  | { id: number; value: unknown }
  | { id: number; fault: { code: FaultCode; message: string } }
  | { clusterId: string; progress: ReadingProgress };
