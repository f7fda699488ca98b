import { yieldToEventLoop } from "../../lib/clock.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { resolveTargetDevices } from "../recipients/individual-devices.ts";
import { endpointPkOf } from "../recipients/recipient-writer.ts";
import { findProviderProblems, type PreviewedDevice, previewDevices } from "./delivery-planner.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";

export type DevicePreviewDeps = Pick<
  PipelineStageDeps,
  "store" | "clock" | "providers" | "endpointId" | "memberships" | "activations"
>;

export interface DevicePreviewOptions {
  /** Only devices of this plugin; null or absent: of all. */
  provider?: string | null;
  /** Plugin that carries messages to devices of other appliances; null: these are not reached. */
  carrier: string | null;
  /** Devices per turn of the event loop; 500 take some ms. */
  chunkSize?: number;
}

const CHUNK_SIZE = 500;
const OF_PROVIDER = "SELECT pk FROM devices WHERE pk IN (SELECT value FROM json_each(?)) AND provider = ?";

/** What a message would do on its target devices, a chunk per turn of the event loop. */
export async function* iterateDevicePreviews(
  row: NotificationRow,
  { provider = null, carrier, chunkSize = CHUNK_SIZE }: DevicePreviewOptions,
  deps: DevicePreviewDeps,
): AsyncGenerator<PreviewedDevice[]> {
  const { store, clock } = deps;
  const pks = await resolveTargetDevices(row, deps);
  const ours = endpointPkOf(store, deps.endpointId());
  const troubles = findProviderProblems(store, deps.providers, row);
  for (let at = 0; at < pks.length; at += chunkSize) {
    const chunk = pks.slice(at, at + chunkSize);
    const chosen =
      provider === null
        ? chunk
        : store.all<{ pk: number }>(OF_PROVIDER, JSON.stringify(chunk), provider).map(({ pk }) => pk);
    const elsewhere = await deps.activations.activatedElsewhere(chosen);
    yield previewDevices(store, row, chosen, { ours, troubles, elsewhere, carrier });
    await yieldToEventLoop(clock);
  }
}
