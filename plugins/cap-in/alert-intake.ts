import type { PluginContext } from "#plugin-api";
import type { ReceivedAlert } from "./alert.ts";
import { versionHash } from "./alert-filter.ts";
import { alertKey, supersededAlertKeys } from "./alert-references.ts";
import { createSeenHashes } from "./seen-hashes.ts";

export interface AlertIntakeDeps {
  feedName: string;
  state: PluginContext["state"];
  log: PluginContext["log"];
  /** Handles an alert; resolves when its effects are stored. */
  onAlert(alert: ReceivedAlert): Promise<void>;
}

/** Handles alerts in order of `sent`, without those that others of them, or earlier ones, replace. */
export function createAlertIntake({ feedName, state, log, onAlert }: AlertIntakeDeps) {
  /** Replaced alerts, so that an older document is not taken for news. */
  const replaced = createSeenHashes(`replaced:${feedName}`, state);
  return {
    /** Calls `onDone` for each alert with the error of `onAlert`, null if it is stored. */
    async take<T extends { alert: ReceivedAlert }>(
      alerts: readonly T[],
      onDone: (item: T, error: unknown) => Promise<void>,
    ): Promise<void> {
      await replaced.add(alerts.flatMap(({ alert }) => supersededAlertKeys(alert)).map(versionHash));
      const old = await replaced.all();
      for (const item of [...alerts].sort((a, b) => Date.parse(a.alert.sent) - Date.parse(b.alert.sent))) {
        const { alert } = item;
        try {
          if (old.has(versionHash(alertKey(alert))))
            log.info(
              { event: "cap.alert_superseded", feed: feedName, identifier: alert.identifier },
              "alert superseded before it was read",
            );
          else await onAlert(alert);
        } catch (error) {
          await onDone(item, error);
          continue;
        }
        await onDone(item, null);
      }
    },
  };
}
