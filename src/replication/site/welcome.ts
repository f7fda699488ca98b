import type { Lane, Welcome } from "../frames.ts";
import { clear, get, put, type Work } from "../work.ts";
import { type Journal, tell } from "./activities.ts";
import { beginSnapshot } from "./down-feed.ts";
import { renumberEdits } from "./edits.ts";
import { disownArmed } from "./inbox.ts";
import { linkState } from "./link-state.ts";
import { hasTail, renumber, sendAgain } from "./outbox.ts";
import { ARRIVED, LINK } from "./tables.ts";

const LANES: readonly Lane[] = ["bulk", "hot"];

/**
 * Compares what the cloud has of this appliance with what it has itself. `restored`: this is an older copy (or a clone),
 * which has begun a new incarnation and must say hello again. `gap`: the snapshot does not follow on. `more`: ask again with
 * the same, as many records are sent once more, a slice at a time; whoever ends between two of them goes on at the next
 * welcome. Counters alone would not do: after a restore a number is used again for another record, so the names of the last
 * ones are compared.
 * @source replication.md 6, restore detection
 */
export function* acceptWelcome(welcome: Welcome, journal: Journal): Work<"live" | "restored" | "gap" | "more"> {
  const link = yield* linkState();
  let isSame = welcome.inc === link.inc;
  for (const lane of LANES) {
    const { hw, tail } = welcome.up[lane];
    isSame = isSame && (yield* hasTail(link, lane, hw, tail));
  }
  if (!isSame) {
    yield* beginIncarnation(Math.max(welcome.inc, link.inc), journal);
    return "restored";
  }
  // An older copy with the same last record is not told apart; all of its rows arrived that were acknowledged to it.
  if (welcome.up.bulk.hw > link.bulkAcked) {
    const bulkAcked = yield* sendAgain("bulk", link.bulkAcked, welcome.up.bulk.hw);
    if (bulkAcked < welcome.up.bulk.hw) {
      yield* put(LINK, { ...(yield* linkState()), bulkAcked });
      return "more";
    }
  }
  const isNewEpoch = welcome.epoch !== link.epoch;
  yield* put(LINK, {
    ...(yield* linkState()),
    epoch: welcome.epoch,
    // Numbers of commands belong to an epoch: those of a restored cloud begin where its copy ended.
    cmdHw: isNewEpoch ? 0 : link.cmdHw,
    bulkAcked: welcome.up.bulk.hw,
    hotAcked: welcome.up.hot.hw,
    decided: Math.min(link.decided, welcome.up.hot.hw),
  });
  yield* tell(journal, { type: "syncer-startup", state: "success", severity: "info", counts: { times: 1 } });
  if (!welcome.resync) return "live";
  return (yield* beginSnapshot(welcome.resync, journal)) ? "live" : "gap";
}

/**
 * Tells a restored copy what it is, before its first connection: what it stands ready to do may have been done since, and
 * only emergencies are done again. A copy that nobody tells finds out by `acceptWelcome`, if anything reached the cloud.
 */
export function* adoptRestoredCopy(journal: Journal): Work<void> {
  const link = yield* get(LINK, "link");
  if (!link) return;
  yield* disownArmed(journal);
  // Whether the clock was set since the copy was made, it can't tell either.
  yield* put(LINK, { ...(yield* linkState()), ct: null, ctWall: null });
  yield* beginIncarnation(link.inc, journal);
}

/**
 * Numbers all that is kept anew, and tells own state as a whole: what is not told again is gone. The incarnation is above
 * `known` by chance: two copies of one image number what they share the same way, and must not take each other's number.
 */
export function* beginIncarnation(known: number, { newId }: Pick<Journal, "newId">): Work<void> {
  const inc = known + 1 + Number.parseInt(newId().slice(-6), 16);
  const bulk = yield* renumber("bulk");
  const hot = yield* renumber("hot");
  yield* renumberEdits(hot.numbers);
  yield* clear(ARRIVED);
  yield* put(LINK, {
    ...(yield* linkState()),
    inc,
    bulkSeq: bulk.numbers.size,
    bulkAcked: 0,
    hotSeq: hot.numbers.size,
    hotAcked: 0,
    decided: 0,
    telling: { type: "", after: null },
    outBytes: bulk.bytes + hot.bytes,
  });
}
