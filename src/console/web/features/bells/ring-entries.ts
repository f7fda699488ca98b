import type { RingEntry } from "../../api/bell-rows.ts";

/** A ring as it is written; `id` is left out of a new one. */
export type RingEntryInput = Pick<
  RingEntry,
  "time" | "messageTemplateId" | "deviceGroupIds" | "distributionListIds"
> & {
  id?: string;
};

/** Rings as they are written, without the names that they are read with. */
export function ringEntryInputs(entries: readonly (RingEntry | RingEntryInput)[]): RingEntryInput[] {
  return entries.map(({ id, time, messageTemplateId, deviceGroupIds, distributionListIds }) => ({
    ...(id === undefined ? {} : { id }),
    time,
    messageTemplateId,
    deviceGroupIds,
    distributionListIds,
  }));
}
