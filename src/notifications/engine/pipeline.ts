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
 * The flow of one broadcast, in order. Before it stands `accept`, which the sender waits for: what it has stored is
 * taken through these by the runner, each stage from its rows, so that a restart goes on where the last run was.
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
