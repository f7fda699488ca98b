import type { EngineDeps } from "./broadcast-activator.ts";
import type { PipelineStage } from "./pipeline-stage.ts";
import { collect } from "./stages/collect.ts";
import { deliver } from "./stages/deliver.ts";
import { partition } from "./stages/partition.ts";
import { prepare } from "./stages/prepare.ts";
import { queue } from "./stages/queue.ts";
import { resolve } from "./stages/resolve.ts";
import { settle } from "./stages/settle.ts";

/**
 * The stages of one broadcast, in order. Before them is `accept`, which the sender waits for: the runner takes the
 * stored message through the stages, each of which works from rows, so that a restart resumes where the last run was.
 */
export const PIPELINE: readonly PipelineStage<EngineDeps>[] = [
  resolve,
  partition,
  prepare,
  queue,
  deliver,
  collect,
  settle,
];
