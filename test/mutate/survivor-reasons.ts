/** Why no test notices a mutant, by `file: change`. */
export const SURVIVOR_REASONS: Readonly<Record<string, string>> = {
  "src/lib/log.ts: dest: 2 -> 3": "the default destination is the process's own stderr; tests pass a stream",
  "src/failover/duty.ts: part === null -> !==": "equivalent: the keys differ, but stay distinct and are only compared",
  "src/sync/protocol/field-merge.ts: -1 -> 2": "equivalent: the reverse order of members is as good for a hash",
  "src/permissions/scope-cache.ts: MAX_CACHED_SCOPES = 10_000 -> 10001":
    "equivalent: one more answer in memory, and no other answers",
  "src/permissions/scope-cache.ts: compiled.size >= MAX_CACHED_SCOPES -> >":
    "equivalent: one more answer in memory, and no other answers",
  "src/permissions/scope-cache.ts: one.namePath < other.namePath -> <=":
    "equivalent: no two domains have the same path",
  "src/permissions/scope-cache.ts: one.namePath < other.namePath ? -1 : 1 -> 2":
    "equivalent: a comparison counts by its sign",
  "src/bells/ticker.ts: evict(replaced); -> ;":
    "no test reuses the key of a ring that a write replaced during its preparation",
};
