import { createMatchedFilter, type Detection, MAX_P_VALUE } from "../../src/speaker-agent/matched-filter.ts";
import type { SyntheticRoom } from "./synthetic-room.ts";

/** Samples that come at once: 200 ms, as from a sound card. */
const PIECE_SAMPLES = 1_600;

/** Runs the product's filter as the agent does, piece by piece until it has heard enough. */
export function listenInRoom({ played, recorded }: Pick<SyntheticRoom, "played" | "recorded">): Detection | null {
  const filter = createMatchedFilter();
  for (let at = 0; at < played.length; at += PIECE_SAMPLES) {
    filter.addPlayed(played.subarray(at, at + PIECE_SAMPLES));
    filter.addRecorded(recorded.subarray(at, at + PIECE_SAMPLES));
    if (isHeard(filter.detection)) return filter.detection;
  }
  filter.finish();
  return filter.detection;
}

export function isHeard(detection: Detection | null): boolean {
  return detection !== null && detection.pValue <= MAX_P_VALUE;
}
