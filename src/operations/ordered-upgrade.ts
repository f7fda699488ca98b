import { createReadStream, existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { type Clock, sleep } from "../base/clock.ts";
import { ConflictError, invalidValue, UpstreamError } from "../base/errors.ts";
import { isNewer } from "../base/versions.ts";
import type { Store } from "../store/store.ts";
import type { OrderWork } from "./endpoint-orders.ts";
import { readMark, writeMark } from "./marks.ts";
import { upgradeIn } from "./upgrade-bundle.ts";
import { endOf, fileOf, isTaken, leaveOrder, orderLeft, withdrawOrder } from "./upgrade-order.ts";

/** What upgrading by order needs. */
export interface OrderedUpgradeNeeds {
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

const MARK = "upgrade-offer";
/** own choice: several times what a version with all its libraries takes */
const MOST_BYTES = 1_000_000_000;
/** own choice: what comes over a slow line has an hour */
const ARRIVES_WITHIN_MS = 3_600_000;
/** own choice: systemd looks at once */
const TAKEN_WITHIN_MS = 120_000;
/** own choice: a backup of everything, two starts and a restore */
const ENDS_WITHIN_MS = 3_600_000;
const LOOK_EVERY_MS = 500;

/** The version that lies ready here; null when none does. */
export function offeredUpgrade(store: Pick<Store, "one">): OfferedUpgrade | null {
  return readMark<OfferedUpgrade>(store, MARK);
}

/** Keeps a signed version, which appliances that are ordered to upgrade fetch. Throws CallerError for one that no trusted key signed. */
export async function offerUpgrade(
  file: unknown,
  { store, keys }: Pick<OrderedUpgradeNeeds, "store" | "keys">,
): Promise<OfferedUpgrade> {
  if (typeof file !== "string" || !isAbsolute(file)) throw invalidValue("file", "It is an absolute path.");
  const { version } = await upgradeIn(file, keys);
  const kept = await store.files.put(createReadStream(file), { fileName: file, maxBytes: MOST_BYTES, types: ["*/*"] });
  const offered = { version, sha256: kept.file.sha256, size: kept.file.size };
  await store.write((tx) => writeMark(tx, MARK, offered));
  store.files.release(kept, true);
  return offered;
}

/**
 * Has the version that an order names (`{sha256}`, which came over the link), else the one that lies ready here, installed
 * by whoever may, and waits for what becomes of it, also in the run after. The activity says so once, in words.
 */
export function createOrderedUpgrade(needs: OrderedUpgradeNeeds): OrderWork {
  const { store, dataDir, version, clock, keys, root } = needs;

  async function waitFor<T>(look: () => T | null, forMs: number, signal: AbortSignal): Promise<T | null> {
    const until = clock.monotonicMs() + forMs;
    for (;;) {
      signal.throwIfAborted();
      const found = look();
      if (found !== null || clock.monotonicMs() >= until) return found;
      await sleep(clock, LOOK_EVERY_MS);
    }
  }

  async function leave(id: string, asked: unknown, signal: AbortSignal): Promise<void> {
    if (root === null) throw NOT_BY_VERSIONS();
    const sha256 = (asked as Partial<OfferedUpgrade> | null)?.sha256 ?? offeredUpgrade(store)?.sha256;
    if (typeof sha256 !== "string") throw NOTHING_OFFERED();
    const file = fileOf(dataDir, sha256);
    if (file === null) throw invalidValue("value", "sha256: It is no SHA-256 in hex.");
    const here = await waitFor(() => (existsSync(file) ? file : null), ARRIVES_WITHIN_MS, signal);
    if (here === null) throw new UpstreamError("upstream", "The version did not arrive over the link within an hour.");
    const { version: to } = await upgradeIn(here, keys);
    if (!isNewer(to, version))
      throw new ConflictError(`${to} is not newer than ${version}, which runs: nothing was changed.`);
    leaveOrder(dataDir, { id, sha256, from: version });
  }

  return async ({ id, value }, signal) => {
    if (!endOf(dataDir, id) && orderLeft(dataDir)?.id !== id) await leave(id, value, signal);
    const look = () => endOf(dataDir, id) ?? (isTaken(dataDir, id) ? ("taken" as const) : null);
    if ((await waitFor(look, TAKEN_WITHIN_MS, signal)) === null) {
      withdrawOrder(dataDir);
      throw NOBODY_INSTALLS();
    }
    const end = await waitFor(() => endOf(dataDir, id), ENDS_WITHIN_MS, signal);
    if (!end) throw new UpstreamError("outcome-unknown", "Nobody said what became of it: see the machine's log.");
    if (end.fault !== null) throw new ConflictError(end.fault);
    const { from, to, rolledBack } = end;
    if (rolledBack)
      throw new ConflictError(`${to} did not get well: ${from} runs again, on its data. The machine's log says more.`);
    return { from, to };
  };
}

const NOT_BY_VERSIONS = (): ConflictError =>
  new ConflictError(
    "This appliance is not installed by versions, so nothing can be put in their place from afar. Lay its program out as " +
      "/opt/carillon-versions/versions/<version> with the link current, run the service from there (systemd/carillon.service " +
      "says how), or install the version at the machine.",
  );
const NOTHING_OFFERED = (): ConflictError =>
  new ConflictError("No version lies ready: carillon upgrade-offer FILE puts one there.");
const NOBODY_INSTALLS = (): UpstreamError =>
  new UpstreamError(
    "upstream",
    "Nobody at the machine takes orders for upgrades: systemctl enable --now carillon-upgrade.path.",
  );
