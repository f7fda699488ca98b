/** Why no test notices a mutant, by `file: change`. */
export const SURVIVOR_REASONS: Readonly<Record<string, string>> = {
  "src/lib/log.ts: dest: 2 -> 3": "the default destination is the process's own stderr; tests pass a stream",
  "src/failover/duty.ts: part === null -> !==": "equivalent: the keys differ, but stay distinct and are only compared",
  "src/sync/protocol/field-merge.ts: -1 -> 2": "equivalent: the reverse order of members is as good for a hash",
  "src/bells/ticker.ts: ringCache.delete(pk); -> ;":
    "no test reuses the key of a deleted ring while the ticker still caches it",
  "src/bells/ticker.ts: !prepared.includes(ring) -> (prepared.includes(ring))":
    "no test replaces only some of the rings that are prepared together",
  "src/bells/ticker.ts: evict(replaced); -> ;":
    "no test reuses the key of a ring that a write replaced during its preparation",
  "src/bells/ticker.ts: retryAtByKey.size > 0 || hasFailed -> &&":
    "no test measures the pause after a failure that only one of the two records",
};
