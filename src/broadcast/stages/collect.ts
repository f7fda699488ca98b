import type { EngineNeeds } from "../air.ts";
import { advance, type Stage } from "../stage.ts";
import { untilAborted } from "../until-aborted.ts";

/**
 * Waits until nothing more is to be expected of any device: proof comes in, failed ones are tried again, the sound ends.
 * After a restart it puts the message on air again from its rows.
 */
export const collect: Stage<EngineNeeds> = {
  name: "collect",
  async run(notificationId, needs) {
    const live = await needs.air.take(notificationId);
    await untilAborted(live.finished, needs.signal);
    await needs.ledger.flush();
    await needs.store.write((tx) => advance(tx, notificationId, "settle"), needs.laneOf(live.priority));
  },
};
