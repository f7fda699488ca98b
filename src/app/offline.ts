import type { Clock } from "../base/clock.ts";
import { isSetUp, notSetUp, openDataOffline, requireDatabase } from "./appliance.ts";
import { sendOrder } from "./control-socket.ts";
import { createOrders } from "./orders.ts";

/**
 * Carries out an order on the appliance in `dataDir`: by its daemon when one runs, else on the data itself. Throws
 * CallerError for what is refused, UpstreamError (about the data directory) when there is no appliance or it is in use.
 */
export async function giveOrder(
  dataDir: string,
  order: string,
  args: Record<string, unknown>,
  clock: Clock,
): Promise<unknown> {
  requireDatabase(dataDir);
  const answered = await sendOrder(dataDir, { order, args });
  return answered ? answered.result : carryOut(dataDir, order, args, clock);
}

async function carryOut(dataDir: string, order: string, args: Record<string, unknown>, clock: Clock): Promise<unknown> {
  const data = await openDataOffline(dataDir, clock);
  try {
    if (!isSetUp(data.store)) throw notSetUp(dataDir);
    return await createOrders(data)[order]?.(args);
  } finally {
    await data.close();
  }
}
