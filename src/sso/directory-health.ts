import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import type { StoreReader } from "../store/store.ts";

/** What a directory said last, where somebody has to look at it. */
const OUTCOME_REASONS: Readonly<
  Partial<Record<NonNullable<IdentityProviderRow["lastSyncOutcome"]>, (row: IdentityProviderRow) => string>>
> = {
  "held-back": ({ name, lastSyncGone }) =>
    `Directory ${name} no longer names ${lastSyncGone} of its people or all their groups; they keep their rights until somebody brings them in line anyway or mends its filters.`,
  "none-found": ({ name }) =>
    `Directory ${name} knows none of its people any more; they keep their rights. Look at its filters.`,
  failed: ({ name }) => `People were not brought in line with directory ${name}: it can't be asked.`,
};

/** Directories whose people are not in line, as reasons of health; a query of at most twenty rows. */
export function createDirectoryHealthCheck(
  reader: StoreReader,
): () => { level: "yellow"; code: string; reason: string }[] {
  return () =>
    reader.find(identityProviders, { type: "ldap", enabled: true }).flatMap((row) => {
      const words = row.lastSyncOutcome && OUTCOME_REASONS[row.lastSyncOutcome];
      return words ? [{ level: "yellow" as const, code: `directory:${row.id}`, reason: words(row) }] : [];
    });
}
