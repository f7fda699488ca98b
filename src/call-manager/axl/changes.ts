import { ClusterFault } from "../cluster-fault.ts";
import type { AxlClient } from "./axl-client.ts";
import { bareUuid } from "./phone-list.ts";
import { asElement, listOf, textOf } from "./xml.ts";

/** Up to where the changes of a cluster's database were read. */
export interface ChangeMark {
  queueId: string;
  nextId: string;
}

/** What happened since a mark. */
export interface Changes {
  /** Null when the cluster tells no changes. */
  mark: ChangeMark | null;
  /** Identifiers of phones that were made, changed or removed. */
  phones: readonly string[];
  /** Something changed that may show in any phone, or the queue of changes is a new one: everything must be read. */
  isEverything: boolean;
}

/** Kinds of objects whose changes show in phones. @source AXL schemas, XChangeType */
const WATCHED = ["Phone", "Line", "DevicePool", "Css", "Location"];

/**
 * What changed since `since`; null asks for a mark alone. Clusters before release 10, and those with the notification
 * switched off, know no changes: everything must be read then. Throws ClusterFault.
 * @source AXL developer guide, listChange
 */
export async function readChanges(client: AxlClient, since: ChangeMark | null): Promise<Changes> {
  const objects = `<objectList>${WATCHED.map((kind) => `<object>${kind}</object>`).join("")}</objectList>`;
  const start =
    since === null
      ? ""
      : `<startChangeId queueId="${since.queueId.replace(/[^\w-]/g, "")}">${Number(since.nextId)}</startChangeId>`;
  let answer: Awaited<ReturnType<AxlClient["call"]>>;
  try {
    answer = await client.call("listChange", start + objects);
  } catch (error) {
    if (error instanceof ClusterFault && error.code === "fault") return { mark: null, phones: [], isEverything: true };
    throw error;
  }
  const queue = asElement(answer.queueInfo);
  const mark = { queueId: textOf(queue.queueId), nextId: textOf(queue.nextStartChangeId) };
  if (mark.queueId === "" || !/^\d+$/.test(mark.nextId)) return { mark: null, phones: [], isEverything: true };
  const changes = listOf(asElement(answer.changes).change);
  const others = changes.some((change) => textOf(change["@type"]) !== "Phone");
  return {
    mark,
    phones: [...new Set(changes.map((change) => bareUuid(textOf(change["@uuid"]))))],
    isEverything: since === null || since.queueId !== mark.queueId || others,
  };
}
