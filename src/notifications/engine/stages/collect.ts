import { abortable } from "../../../lib/waits.ts";
import type { EngineDeps } from "../broadcast-activator.ts";
import { advanceStage, type PipelineStage } from "../pipeline-stage.ts";

/**
 * Waits until nothing more is expected of any device: reports arrive, failures are retried, the audio ends. After a
 * restart it activates the message from its rows.
 */
export const collect: PipelineStage<EngineDeps> = {
  name: "collect",
  async run(notificationId, deps) {
    const live = await deps.activator.activate(notificationId);
    await abortable(live.finished, deps.signal);
    await deps.ledger.flush();
    await deps.store.write((tx) => advanceStage(tx, notificationId, "settle"), deps.laneOf(live.priority));
  },
};
