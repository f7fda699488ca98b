import { createReadStream, existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { type Clock, sleep } from "../../lib/clock.ts";
import { ConflictError, invalidValue, UpstreamError } from "../../lib/errors.ts";
import { isNewerVersion } from "../../lib/version-order.ts";
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

/** What upgrading by order needs. */
export interface RemoteUpgradeDeps {
  store: Store;
  dataDir: string;
  /** The version that runs. */
  version: string;
  clock: Clock;
  /** Public keys whose upgrades are installed. */
  keys: readonly string[];
  /** Folder with the versions that the daemon runs from; null where it is not installed so. */
  root: string | null;
}

/** A version that lies ready, at the cloud for its appliances. */
export interface OfferedUpgrade {
  version: string;
  /** Hex. */
  sha256: string;
  size: number;
}

const STATE_KEY = "upgrade-offer";
/** own choice: several times what a version with all its libraries takes */
const MAX_BUNDLE_BYTES = 1_000_000_000;
/** own choice: what comes over a slow line has an hour */
const ARRIVAL_TIMEOUT_MS = 3_600_000;
/** own choice: systemd looks at once */
const ACKNOWLEDGE_TIMEOUT_MS = 120_000;
/** own choice: a backup of everything, two starts and a restore */
const COMPLETION_TIMEOUT_MS = 3_600_000;
const POLL_INTERVAL_MS = 500;

/** The version that lies ready here; null when none does. */
export function offeredUpgrade(store: Pick<Store, "one">): OfferedUpgrade | null {
  return readOperationState<OfferedUpgrade>(store, STATE_KEY);
}

/** Keeps a signed version, which appliances that are ordered to upgrade fetch. Throws CallerError for one that no trusted key signed. */
export async function offerUpgrade(
  file: unknown,
  { store, keys }: Pick<RemoteUpgradeDeps, "store" | "keys">,
): Promise<OfferedUpgrade> {
  if (typeof file !== "string" || !isAbsolute(file)) throw invalidValue("file", "It is an absolute path.");
  const { version } = await readUpgradeManifest(file, keys);
  const kept = await store.files.put(createReadStream(file), {
    fileName: file,
    maxBytes: MAX_BUNDLE_BYTES,
    types: ["*/*"],
  });
  const offered = { version, sha256: kept.file.sha256, size: kept.file.size };
  await store.write((tx) => writeOperationState(tx, STATE_KEY, offered));
  store.files.release(kept, true);
  return offered;
}

/**
 * Has the version that an order names (`{sha256}`, which came over the link), else the one that lies ready here, installed
 * by whoever may, and waits for what becomes of it, also in the run after. The activity says so once, in words.
 */
export function createRemoteUpgrade(needs: RemoteUpgradeDeps): EndpointCommandHandler {
  const { store, dataDir, version, clock, keys, root } = needs;

  async function waitFor<T>(look: () => T | null, forMs: number, signal: AbortSignal): Promise<T | null> {
    const until = clock.monotonicMs() + forMs;
    for (;;) {
      signal.throwIfAborted();
      const found = look();
      if (found !== null || clock.monotonicMs() >= until) return found;
      await sleep(clock, POLL_INTERVAL_MS);
    }
  }

  async function requestInstall(id: string, asked: unknown, signal: AbortSignal): Promise<void> {
    if (root === null) throw notVersionedInstallError();
    const sha256 = (asked as Partial<OfferedUpgrade> | null)?.sha256 ?? offeredUpgrade(store)?.sha256;
    if (typeof sha256 !== "string") throw noOfferedUpgradeError();
    const file = upgradeFilePath(dataDir, sha256);
    if (file === null) throw invalidValue("value", "sha256: It is no SHA-256 in hex.");
    const here = await waitFor(() => (existsSync(file) ? file : null), ARRIVAL_TIMEOUT_MS, signal);
    if (here === null) throw new UpstreamError("upstream", "The version did not arrive over the link within an hour.");
    const { version: to } = await readUpgradeManifest(here, keys);
    if (!isNewerVersion(to, version))
      throw new ConflictError(`${to} is not newer than ${version}, which runs: nothing was changed.`);
    writeUpgradeRequest(dataDir, { id, sha256, from: version });
  }

  return async ({ id, value }, signal) => {
    if (!upgradeRequestResult(dataDir, id) && pendingUpgradeRequest(dataDir)?.id !== id)
      await requestInstall(id, value, signal);
    const look = () =>
      upgradeRequestResult(dataDir, id) ?? (isUpgradeRequestAcknowledged(dataDir, id) ? ("taken" as const) : null);
    if ((await waitFor(look, ACKNOWLEDGE_TIMEOUT_MS, signal)) === null) {
      withdrawUpgradeRequest(dataDir);
      throw noInstallerError();
    }
    const end = await waitFor(() => upgradeRequestResult(dataDir, id), COMPLETION_TIMEOUT_MS, signal);
    if (!end) throw new UpstreamError("outcome-unknown", "Nobody said what became of it: see the machine's log.");
    if (end.fault !== null) throw new ConflictError(end.fault);
    const { from, to, rolledBack } = end;
    if (rolledBack)
      throw new ConflictError(`${to} did not get well: ${from} runs again, on its data. The machine's log says more.`);
    return { from, to };
  };
}

const notVersionedInstallError = (): ConflictError =>
  new ConflictError(
    "This appliance is not installed by versions, so nothing can be put in their place from afar. Lay its program out as " +
      "/opt/carillon-versions/versions/<version> with the link current, run the service from there (systemd/carillon.service " +
      "says how), or install the version at the machine.",
  );
const noOfferedUpgradeError = (): ConflictError =>
  new ConflictError("No version lies ready: carillon upgrade-offer FILE puts one there.");
const noInstallerError = (): UpstreamError =>
  new UpstreamError(
    "upstream",
    "Nobody at the machine takes orders for upgrades: systemctl enable --now carillon-upgrade.path.",
  );
