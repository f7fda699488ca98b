import type { ApiClient, ApiPage } from "../../api-client/api-client.ts";
import {
  type OutcomeCounts,
  outcomeTotal,
  type ReachVerdict,
  reachedTotal,
  VERDICT_NAMES,
} from "../../resources/notifications/device-outcomes.ts";
import { counted } from "../counted.ts";

/** A message as the API lists it. */
export interface MessageRow {
  id: string;
  subject: string | null;
  createdAt: string;
  soundsAt: string | null;
  abortedAt: string | null;
  approval: string | null;
  drill: boolean;
  draft: boolean;
  priority: string;
  progress: { percentComplete: number; expireCount: number; outcomes: OutcomeCounts; verdict: ReachVerdict };
}

/** Among so many of the newest are those that are sent now. */
const MAX_LOOKED_AT = 200;

/** The newest messages first. */
export async function newestMessages(api: ApiClient, limit = MAX_LOOKED_AT): Promise<MessageRow[]> {
  return (await api.get<ApiPage<MessageRow>>(`/notifications?sort=-createdAt&limit=${limit}`)).data;
}

/** True while it is sent, or will sound. */
export function isActive({ draft, abortedAt, approval, progress }: MessageRow): boolean {
  if (draft || abortedAt !== null) return false;
  if (approval === "waiting" || approval === "refused" || approval === "expired") return false;
  return progress.percentComplete < 100 && progress.expireCount === 0;
}

/** `Reached: 294 of 300 devices`, or why there is nothing to count. */
export function resultOf(row: MessageRow): string {
  const verdict = VERDICT_NAMES[row.progress.verdict];
  if (row.abortedAt !== null) return `Stopped. ${withCounts(verdict, row)}`;
  if (row.approval === "waiting") return "Waits for a second person";
  if (row.approval === "refused") return "Refused by the second person";
  if (row.approval === "expired") return "Not approved in time";
  return withCounts(isActive(row) ? VERDICT_NAMES.waiting : verdict, row);
}

/** Without devices, or before they are known, there is nothing to count. */
function withCounts(verdict: string, { progress: { outcomes } }: MessageRow): string {
  const devices = outcomeTotal(outcomes);
  return devices === 0 ? verdict : `${verdict}: ${reachedTotal(outcomes)} of ${counted(devices, "device")}`;
}
