import { abortable } from "../../../lib/abortable.ts";
import type { EngineDeps } from "../broadcast-activator.ts";
import { advanceStage, type PipelineStage } from "../pipeline-stage.ts";

/**
 * Waits until nothing more is to be expected of any device: proof comes in, failed ones are tried again, the sound ends.
 * After a restart it puts the message on air again from its rows.
 */
export const collect: PipelineStage<EngineDeps> = {
  name: "collect",
  async run(notificationId, needs) {
    const live = await needs.activator.activate(notificationId);
    await abortable(live.finished, needs.signal);
    await needs.ledger.flush();
    await needs.store.write((tx) => advanceStage(tx, notificationId, "settle"), needs.laneOf(live.priority));
  },
};
