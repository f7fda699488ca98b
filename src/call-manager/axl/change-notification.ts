import { ClusterError } from "../cluster-error.ts";
import type { AxlClient } from "./axl-client.ts";
import { normalizeUuid } from "./phone-list.ts";
import { asSoapElement, soapChildren, textOfElement } from "./xml.ts";

/** Read position (checkpoint) in the change queue of a cluster. */
export interface ChangeCheckpoint {
  queueId: string;
  nextId: string;
}

/** Changes since a checkpoint. */
export interface ClusterChanges {
  /** Null if the cluster does not report changes. */
  checkpoint: ChangeCheckpoint | null;
  /** Identifiers of phones that were added, changed or removed. */
  phones: readonly string[];
  /** An object changed that any phone may refer to, or the change queue was replaced: a full read is needed. */
  requiresFullRead: boolean;
}

/** Object types whose changes affect phones. @source AXL schemas, XChangeType */
const WATCHED_TYPES = ["Phone", "Line", "DevicePool", "Css", "Location"];

/**
 * Changes since `since`; null only returns a checkpoint. Clusters before release 10, and those with change notification
 * disabled, report no changes and need full reads. Throws ClusterError. @source AXL developer guide, listChange
 */
export async function listChanges(client: AxlClient, since: ChangeCheckpoint | null): Promise<ClusterChanges> {
  const objects = `<objectList>${WATCHED_TYPES.map((kind) => `<object>${kind}</object>`).join("")}</objectList>`;
  const start =
    since === null
      ? ""
      : `<startChangeId queueId="${since.queueId.replace(/[^\w-]/g, "")}">${Number(since.nextId)}</startChangeId>`;
  let answer: Awaited<ReturnType<AxlClient["call"]>>;
  try {
    answer = await client.call("listChange", start + objects);
  } catch (error) {
    if (error instanceof ClusterError && error.code === "fault")
      return { checkpoint: null, phones: [], requiresFullRead: true };
    throw error;
  }
  const queue = asSoapElement(answer.queueInfo);
  const checkpoint = { queueId: textOfElement(queue.queueId), nextId: textOfElement(queue.nextStartChangeId) };
  if (checkpoint.queueId === "" || !/^\d+$/.test(checkpoint.nextId))
    return { checkpoint: null, phones: [], requiresFullRead: true };
  const changes = soapChildren(asSoapElement(answer.changes).change);
  const others = changes.some((change) => textOfElement(change["@type"]) !== "Phone");
  return {
    checkpoint,
    phones: [...new Set(changes.map((change) => normalizeUuid(textOfElement(change["@uuid"]))))],
    requiresFullRead: since === null || since.queueId !== checkpoint.queueId || others,
  };
}
