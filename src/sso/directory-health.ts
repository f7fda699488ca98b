import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import type { StoreReader } from "../store/store.ts";

/** Health messages for outcomes of a directory sync that need attention. */
const OUTCOME_REASONS: Readonly<
  Partial<Record<NonNullable<IdentityProviderRow["lastSyncOutcome"]>, (row: IdentityProviderRow) => Sentence>>
> = {
  "held-back": ({ name, lastSyncGone }) =>
    sentence("health.directory-held-back", { name: name ?? "", users: lastSyncGone ?? 0 }),
  "none-found": ({ name }) => sentence("health.directory-none-found", { name: name ?? "" }),
  failed: ({ name }) => sentence("health.directory-failed", { name: name ?? "" }),
};

/** Health check of directory syncs; one query of at most 20 rows. */
export function createDirectoryHealthCheck(
  reader: StoreReader,
): () => { level: "yellow"; code: string; reason: Sentence }[] {
  return () =>
    reader.find(identityProviders, { type: "ldap", enabled: true }).flatMap((row) => {
      const reasonFor = row.lastSyncOutcome && OUTCOME_REASONS[row.lastSyncOutcome];
      return reasonFor ? [{ level: "yellow" as const, code: `directory:${row.id}`, reason: reasonFor(row) }] : [];
    });
}
