import { createReadStream, existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { ConflictError, invalidValue, UpstreamError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { isNewerVersion } from "../../lib/version-order.ts";
import { pollUntil } from "../../lib/waits.ts";
import type { Store } from "../../store/store.ts";
import type { EndpointCommandHandler } from "../endpoint-commands.ts";
import { readOperationState, writeOperationState } from "../operation-state.ts";
import { readUpgradeManifest } from "./upgrade-bundle.ts";
import {
  isUpgradeRequestAcknowledged,
  pendingUpgradeRequest,
  upgradeFilePath,
  upgradeRequestResult,
  withdrawUpgradeRequest,
  writeUpgradeRequest,
} from "./upgrade-request.ts";

export interface RemoteUpgradeDeps {
  store: Store;
  dataDir: string;
  /** The running version. */
  version: string;
  clock: Clock;
  /** Trusted public keys of upgrades. */
  keys: readonly string[];
  /** Folder with the versions that the daemon runs from; null for another kind of installation. */
  root: string | null;
}

/** A version that is available here; at a cloud, for its appliances. */
export interface OfferedUpgrade {
  version: string;
  /** Hex. */
  sha256: string;
  size: number;
}

const STATE_KEY = "upgrade-offer";
/** Several times the size of a version with all its libraries. */
const MAX_BUNDLE_BYTES = 1_000_000_000;
/** Time for a transfer over a slow line. */
const ARRIVAL_TIMEOUT_MS = 3_600_000;
/** systemd reacts at once. */
const ACKNOWLEDGE_TIMEOUT_MS = 120_000;
/** Time for a full backup, two starts and a restore. */
const COMPLETION_TIMEOUT_MS = 3_600_000;
const POLL_INTERVAL_MS = 500;

/** The available version; null if there is none. */
export function offeredUpgrade(store: Pick<Store, "one">): OfferedUpgrade | null {
  return readOperationState<OfferedUpgrade>(store, STATE_KEY);
}

/** Stores a signed version for appliances with a requested upgrade. Throws CallerError unless a trusted key signed it. */
export async function offerUpgrade(
  file: unknown,
  { store, keys }: Pick<RemoteUpgradeDeps, "store" | "keys">,
): Promise<OfferedUpgrade> {
  if (typeof file !== "string" || !isAbsolute(file))
    throw invalidValue("file", sentence("field.must-be-an-absolute-path"));
  const { version } = await readUpgradeManifest(file, keys);
  const stored = await store.files.put(createReadStream(file), {
    fileName: file,
    maxBytes: MAX_BUNDLE_BYTES,
    types: ["*/*"],
  });
  const offered = { version, sha256: stored.file.sha256, size: stored.file.size };
  await store.write((tx) => writeOperationState(tx, STATE_KEY, offered));
  store.files.release(stored, true);
  return offered;
}

/**
 * Requests the installation of the version named by a command (`{sha256}`, which arrived over the link), or else of the one
 * available here, from the privileged installer, and waits for the result, also in the next run. The activity records it once.
 */
export function createRemoteUpgrade(deps: RemoteUpgradeDeps): EndpointCommandHandler {
  const { store, dataDir, version, clock, keys, root } = deps;

  const waitFor = <T>(poll: () => T | null, timeoutMs: number, signal: AbortSignal): Promise<T | null> =>
    pollUntil(clock, poll, { timeoutMs, intervalMs: POLL_INTERVAL_MS, signal });

  async function requestInstall(id: string, requested: unknown, signal: AbortSignal): Promise<void> {
    if (root === null) throw notVersionedInstallError();
    const sha256 = (requested as Partial<OfferedUpgrade> | null)?.sha256 ?? offeredUpgrade(store)?.sha256;
    if (typeof sha256 !== "string") throw noOfferedUpgradeError();
    const file = upgradeFilePath(dataDir, sha256);
    if (file === null) throw invalidValue("value", sentence("field.sha256-must-be-a-sha-256-hash-in-hex"));
    const arrived = await waitFor(() => (existsSync(file) ? file : null), ARRIVAL_TIMEOUT_MS, signal);
    if (arrived === null)
      throw new UpstreamError("upstream", sentence("error.the-version-did-not-arrive-over-the-link-within-an-hour"));
    const { version: to } = await readUpgradeManifest(arrived, keys);
    if (!isNewerVersion(to, version))
      throw new ConflictError(
        sentence("error.to-is-not-newer-than-the-running-version-version-nothing-was-changed", { to, version }),
      );
    writeUpgradeRequest(dataDir, { id, sha256, from: version });
  }

  return async ({ id, value }, signal) => {
    if (!upgradeRequestResult(dataDir, id) && pendingUpgradeRequest(dataDir)?.id !== id)
      await requestInstall(id, value, signal);
    const poll = () =>
      upgradeRequestResult(dataDir, id) ?? (isUpgradeRequestAcknowledged(dataDir, id) ? ("taken" as const) : null);
    if ((await waitFor(poll, ACKNOWLEDGE_TIMEOUT_MS, signal)) === null) {
      withdrawUpgradeRequest(dataDir);
      throw noInstallerError();
    }
    const result = await waitFor(() => upgradeRequestResult(dataDir, id), COMPLETION_TIMEOUT_MS, signal);
    if (!result)
      throw new UpstreamError(
        "outcome-unknown",
        sentence("error.the-installer-reported-no-result-see-the-machine-s-log"),
      );
    if (result.fault !== null) throw new ConflictError(result.fault);
    const { from, to, rolledBack } = result;
    if (rolledBack)
      throw new ConflictError(
        sentence("error.to-did-not-become-healthy-rolled-back-to-from-and-its-data-see-the", { to, from }),
      );
    return { from, to };
  };
}

const notVersionedInstallError = (): ConflictError =>
  new ConflictError(sentence("error.remote-upgrades-are-not-possible"));
const noOfferedUpgradeError = (): ConflictError =>
  new ConflictError(sentence("error.no-version-is-available-provide-one-with-carillon-upgrade-offer-file"));
const noInstallerError = (): UpstreamError =>
  new UpstreamError(
    "upstream",
    sentence("error.the-upgrade-installer-does-not-run-on-the-machine-systemctl-enable-now-carillon-upgrade"),
  );
