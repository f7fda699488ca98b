import { HUB_FILE_REQUESTS, SITE_FILE_REQUESTS } from "../files/file-requests.ts";
import {
  ADOPTIONS,
  APPLIANCE_DOMAINS,
  DECIDED_EDITS,
  EDIT_CONFLICTS,
  FEED_HEAD,
  FEED_RECORDS,
  GROUP_LEASES,
  ISSUED_COMMANDS,
  LINK_RECORDS,
  SCOPE_DIGESTS,
  SITE_RECORDS,
  UNIQUE_NAMES,
  WAITING_ROWS,
} from "../hub/tables.ts";
import { COMMAND_INBOX } from "../site/command-inbox.ts";
import {
  ACKED_POSITIONS,
  APPLIED_VERSIONS,
  CHANGED_ACTIVITIES,
  LOCAL_EDITS,
  OUTBOX,
  REFUSED_ROWS,
  SHADOW_ROWS,
  STAGED_ROWS,
  SYNC_STATE,
} from "../site/tables.ts";
import type { Collection } from "./transaction-program.ts";

/** Sync tables of an appliance. */
export const SITE_COLLECTIONS = [
  SYNC_STATE,
  STAGED_ROWS,
  APPLIED_VERSIONS,
  SHADOW_ROWS,
  OUTBOX,
  ACKED_POSITIONS,
  LOCAL_EDITS,
  REFUSED_ROWS,
  COMMAND_INBOX,
  CHANGED_ACTIVITIES,
  SITE_FILE_REQUESTS,
] as unknown as Collection<never>[];

/** Sync tables of the cloud. */
export const HUB_COLLECTIONS = [
  FEED_HEAD,
  FEED_RECORDS,
  LINK_RECORDS,
  ADOPTIONS,
  APPLIANCE_DOMAINS,
  ISSUED_COMMANDS,
  DECIDED_EDITS,
  EDIT_CONFLICTS,
  SITE_RECORDS,
  SCOPE_DIGESTS,
  UNIQUE_NAMES,
  GROUP_LEASES,
  WAITING_ROWS,
  HUB_FILE_REQUESTS,
] as unknown as Collection<never>[];
