import { ClusterError } from "../cluster-error.ts";
import type { AxlClient } from "./axl-client.ts";
import { normalizeUuid } from "./phone-list.ts";
import { asSoapElement, soapChildren, textOfElement } from "./xml.ts";

/** Up to where the changes of a cluster's database were read. */
export interface ChangeCheckpoint {
  queueId: string;
  nextId: string;
}

/** What happened since a mark. */
export interface ClusterChanges {
  /** Null when the cluster tells no changes. */
  checkpoint: ChangeCheckpoint | null;
  /** Identifiers of phones that were made, changed or removed. */
  phones: readonly string[];
  /** Something changed that may show in any phone, or the queue of changes is a new one: everything must be read. */
  requiresFullRead: boolean;
}

/** Kinds of objects whose changes show in phones. @source AXL schemas, XChangeType */
const WATCHED_TYPES = ["Phone", "Line", "DevicePool", "Css", "Location"];

/**
 * What changed since `since`; null asks for a mark alone. Clusters before release 10, and those with the notification
 * switched off, know no changes: everything must be read then. Throws ClusterFault.
 * @source AXL developer guide, listChange
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
