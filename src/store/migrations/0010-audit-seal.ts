import { markUnsealed } from "../audit-seal.ts";
import type { Migration } from "./migration.ts";

/**
 * The audit is chained with a key. Entries of earlier releases have hashes without one: they are verified when the data are
 * opened, and the next entry, which has the key, seals them. @source docs/decisions/0484-audit-chain-with-a-key.md
 */
export const auditSeal: Migration = {
  name: "0010-audit-seal",
  up: markUnsealed,
};
