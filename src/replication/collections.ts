import {
  ADOPTIONS,
  COMMANDS,
  CONFLICTS,
  DECIDED,
  DIGESTS,
  HEAD,
  LEASES,
  LINKS,
  NAMES,
  ROWS,
  SITE_ROWS,
  WAITING,
} from "./hub/tables.ts";
import { INBOX } from "./site/inbox.ts";
import { ACTIVITIES, ARRIVED, BASE, EDITS, LINK, OUT, PARKED, SHADOW, STAGE } from "./site/tables.ts";
import { HUB_FILES, SITE_FILES } from "./wanted-files.ts";
import type { Collection } from "./work.ts";

/** All that an appliance keeps for the link. */
export const SITE_COLLECTIONS = [
  LINK,
  STAGE,
  BASE,
  SHADOW,
  OUT,
  ARRIVED,
  EDITS,
  PARKED,
  INBOX,
  ACTIVITIES,
  SITE_FILES,
] as unknown as Collection<never>[];

/** All that the cloud keeps for its links. */
export const HUB_COLLECTIONS = [
  HEAD,
  ROWS,
  LINKS,
  ADOPTIONS,
  COMMANDS,
  DECIDED,
  CONFLICTS,
  SITE_ROWS,
  DIGESTS,
  NAMES,
  LEASES,
  WAITING,
  HUB_FILES,
] as unknown as Collection<never>[];
