import type { Lease } from "../protocol/frames.ts";
import { getRecord, putRecord, type TransactionProgram } from "../storage/transaction-program.ts";
import { readFeedHead } from "./publish.ts";
import { GROUP_LEASES, LINK_RECORDS } from "./tables.ts";

/** @source docs/decisions/0040-replication.md, Section 9 */
const LEASE_TTL_MS = 15_000;
/** Extra time before the lease passes to another, because the holder's clock may be slower. @source docs/decisions/0300-sync-limits.md */
const LEASE_MARGIN_MS = 1_000;

/**
 * Renews or grants the leases of groups to an appliance. Each change of the holder, and each new grant, has a higher term, by
 * which late effects of an older holder are refused. A lease is no permission to play. Returns null for a replaced connection;
 * otherwise also the head of the feed.
 */
export function* renewLeases(
  { endpoint, sess }: { endpoint: string; sess: number },
  groups: readonly string[],
  now: number,
): TransactionProgram<{ head: number; leases: Lease[] } | null> {
  if ((yield* getRecord(LINK_RECORDS, endpoint))?.sess !== sess) return null;
  const leases: Lease[] = [];
  const { since, seq } = yield* readFeedHead();
  for (const group of groups) {
    const found = yield* getRecord(GROUP_LEASES, group);
    if (found && found.holder !== endpoint && found.until > now) {
      leases.push({ group, holder: found.holder, term: found.term, ttlMs: 0 });
      continue;
    }
    const isKept = found?.holder === endpoint && found.until > now;
    // Leases granted before a restore are unknown, so all of them must have expired.
    if (!isKept && now < since + LEASE_TTL_MS + LEASE_MARGIN_MS) continue;
    // Terms from before a restore were at most the seconds of their time.
    const term = isKept ? found.term : Math.max((found?.term ?? 0) + 1, Math.floor(now / 1000));
    yield* putRecord(GROUP_LEASES, { group, holder: endpoint, term, until: now + LEASE_TTL_MS + LEASE_MARGIN_MS });
    leases.push({ group, holder: endpoint, term, ttlMs: LEASE_TTL_MS });
  }
  return { head: seq, leases };
}
