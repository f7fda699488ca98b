import type { Clock } from "../lib/clock.ts";
import { sendControlCommand } from "./control-socket.ts";
import { requireDatabase } from "./require-database.ts";

/**
 * Runs a control command on the appliance in `dataDir`: through its daemon if one runs, else on the data directly. Throws
 * CallerError if it is rejected, UpstreamError (about the data directory) if there is no appliance or it is in use.
 */
export async function runControlCommand(
  dataDir: string,
  command: string,
  args: Record<string, unknown>,
  clock: Clock,
): Promise<unknown> {
  requireDatabase(dataDir);
  const response = await sendControlCommand(dataDir, { order: command, args });
  if (response) return response.result;
  // Store, schema and resources take most of a second to load: only if no daemon answers.
  const { runOfflineCommand } = await import("./offline-commands.ts");
  return runOfflineCommand(dataDir, command, args, clock);
}
