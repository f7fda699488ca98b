import { CallerError } from "../lib/errors.ts";
import type { DeviceReport } from "../plugin-api/index.ts";
import devices from "../resources/devices/devices.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";

export interface DeviceReportDeps {
  store: Store;
  by: ActorContext;
  endpointId(): string;
  findProvider(type: string, deviceIdentifier: string): string | null;
}

/** Devices per transaction, so that a long report does not block other writes. */
const CHUNK_SIZE = 50;
const MAX_DEVICES = 50_000;

/**
 * Creates or updates the devices reported by `plugin`. Reported attributes replace stored ones, others stay. Throws
 * CallerError before writing anything if a device belongs to another plugin.
 */
export async function applyDeviceReport(plugin: string, given: unknown, deps: DeviceReportDeps): Promise<void> {
  const reports = validateReports(given);
  for (const { type, deviceIdentifier } of reports) {
    if (deps.findProvider(type, deviceIdentifier) !== plugin)
      throw new CallerError("invalid-value", `devices.report: ${type} ${deviceIdentifier} is not claimed by ${plugin}`);
  }
  for (let at = 0; at < reports.length; at += CHUNK_SIZE) {
    const slice = reports.slice(at, at + CHUNK_SIZE);
    await deps.store.write((tx) => {
      for (const report of slice) upsert(report, plugin, tx, deps);
    });
  }
}

function upsert(report: DeviceReport, plugin: string, tx: Transaction, { by, endpointId }: DeviceReportDeps): void {
  const { deviceIdentifier, type, description, attributes } = report;
  const known = tx.one<{ id: string }>(
    "SELECT id FROM devices WHERE device_identifier = ? COLLATE NOCASE",
    deviceIdentifier,
  );
  const row = known && tx.get(devices, known.id);
  if (!row) {
    const parents = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId() };
    const text = description || deviceIdentifier;
    tx.create(devices, { ...parents, deviceIdentifier, type, description: text, attributes }, by, {
      provider: plugin,
    });
    return;
  }
  if (row.provider !== plugin)
    throw new CallerError("conflict", `devices.report: ${deviceIdentifier} conflicts with a device of ${row.provider}`);
  const merged = { ...(row.attributes as Record<string, string>), ...attributes };
  const text = description || row.description;
  tx.update(devices, row.id, { type, description: text, attributes: merged, defunct: false }, by);
}

function validateReports(given: unknown): DeviceReport[] {
  if (!Array.isArray(given) || given.length > MAX_DEVICES)
    throw new CallerError("invalid-value", `devices.report: must be a list of at most ${MAX_DEVICES} devices`);
  for (const report of given as Partial<DeviceReport>[]) {
    const texts = [report?.deviceIdentifier, report?.type, report?.description];
    const attributes: unknown = report?.attributes;
    if (texts.some((text) => typeof text !== "string") || typeof attributes !== "object" || attributes === null)
      throw new CallerError(
        "invalid-value",
        "devices.report: each device must have deviceIdentifier, type, description and attributes",
      );
  }
  return given as DeviceReport[];
}
