import type { Migration } from "./migration.ts";

/**
 * PINs are stored as hashes. Those of earlier releases are encrypted with the appliance's key and are hashed once the
 * daemon runs (`src/wiring/hash-stored-secrets.ts`). Recorded so that an earlier release, which would try to decrypt a
 * hash, does not open the data.
 */
export const hashedPins: Migration = {
  name: "0008-hashed-pins",
  up: () => undefined,
};
