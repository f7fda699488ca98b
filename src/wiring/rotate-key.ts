import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { adoptNextKey, isKeyRotationPending, writeNextKey } from "../store/key-rotation.ts";
import { KEY_NAME, keyFingerprint, readKeyFile } from "../store/secrets.ts";
import { isInitialized, openApplianceDataOffline } from "./appliance-data.ts";
import { notInitializedError, requireDatabase } from "./require-database.ts";

/** What a rotation of the secret key did. */
export interface KeyRotation {
  /** Fingerprints. */
  before: string;
  after: string;
  /** Values that are sealed with the new key. */
  sealed: number;
}

/**
 * Replaces the secret key in `dataDir` by a new one and seals every stored secret with it. A crash at any point leaves the old
 * or the new key in use, with all secrets readable. `keep` gets the old key before anything changes; earlier backups need it.
 * Throws UpstreamError if a process uses the data, if the key is a credential, or for a replica of a shared database.
 */
export async function rotateKey(
  dataDir: string,
  { keep, clock }: { keep(old: Buffer): void; clock: Clock },
): Promise<KeyRotation> {
  requireDatabase(dataDir);
  const path = join(dataDir, KEY_NAME);
  if (!existsSync(path) && !isKeyRotationPending(dataDir)) throw credentialError(dataDir);
  const data = await openApplianceDataOffline(dataDir, clock);
  try {
    if (!isInitialized(data.store)) throw notInitializedError(dataDir);
    const old = readKeyFile(path);
    keep(old);
    const next = writeNextKey(dataDir);
    const sealed = await data.store.rotateKey(next, data.access.systemContext("cli"));
    adoptNextKey(dataDir);
    return { before: keyFingerprint(old), after: keyFingerprint(next), sealed };
  } finally {
    await data.close();
  }
}

function credentialError(dataDir: string): UpstreamError {
  const message = `The key is a credential of the service and not in ${dataDir}: stop the daemon, copy the credential to ${join(dataDir, KEY_NAME)} (mode 0600), rotate, and move the new key back to the credential.`;
  return new UpstreamError("starting", message, { dataDir });
}
