import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import type { StoreReader } from "../store/store.ts";

/** Health messages for outcomes of a directory sync that need attention. */
const OUTCOME_REASONS: Readonly<
  Partial<Record<NonNullable<IdentityProviderRow["lastSyncOutcome"]>, (row: IdentityProviderRow) => string>>
> = {
  "held-back": ({ name, lastSyncGone }) =>
    `Directory ${name} no longer names ${lastSyncGone} of its users or all their groups. The removal was withheld: they keep their rights until the filters are corrected or a forced sync is started.`,
  "none-found": ({ name }) =>
    `Directory ${name} no longer returns any of its users; they keep their rights. Check its filters.`,
  failed: ({ name }) => `Sync with directory ${name} failed: it cannot be reached.`,
};

/** Health check of directory syncs; one query of at most 20 rows. */
export function createDirectoryHealthCheck(
  reader: StoreReader,
): () => { level: "yellow"; code: string; reason: string }[] {
  return () =>
    reader.find(identityProviders, { type: "ldap", enabled: true }).flatMap((row) => {
      const reasonFor = row.lastSyncOutcome && OUTCOME_REASONS[row.lastSyncOutcome];
      return reasonFor ? [{ level: "yellow" as const, code: `directory:${row.id}`, reason: reasonFor(row) }] : [];
    });
}
