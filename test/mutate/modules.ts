/** Sources that decide something, with the tests that must notice a change in them. */
export interface MutatedModule {
  files: readonly string[];
  /** Test files or folders. */
  tests: readonly string[];
}

/** The modules that decide who rings, who may do what, and what is kept. */
export const MUTATED_MODULES: Readonly<Record<string, MutatedModule>> = {
  bells: {
    files: [
      "src/bells/local-time.ts",
      "src/bells/recurrence.ts",
      "src/bells/schedule-expansion.ts",
      "src/bells/ticker.ts",
    ],
    tests: ["test/unit/bells"],
  },
  permissions: {
    files: ["src/permissions/scope-cache.ts", "src/permissions/privilege-escalation.ts", "src/permissions/rights.ts"],
    tests: ["test/unit/permissions", "test/api/permissions.test.ts"],
  },
  failover: {
    files: ["src/failover/membership.ts", "src/failover/duty.ts"],
    tests: ["test/unit/failover"],
  },
  merge: {
    files: ["src/sync/protocol/field-merge.ts"],
    tests: ["test/unit/sync/field-merge.test.ts"],
  },
  delivery: {
    files: ["src/notifications/engine/delivery-state.ts", "src/notifications/engine/retry.ts"],
    tests: ["test/unit/notifications/engine"],
  },
  throttle: {
    files: ["src/auth/attempt-throttle.ts"],
    tests: ["test/unit/auth/attempt-throttle.test.ts"],
  },
  masking: {
    files: ["src/lib/log.ts", "src/ops/logs/secret-masking.ts"],
    tests: ["test/unit/lib/log.test.ts", "test/unit/ops/logs/secret-masking.test.ts"],
  },
  idempotency: {
    files: ["src/store/idempotency-store.ts"],
    tests: ["test/unit/store/idempotency-store.test.ts"],
  },
};
