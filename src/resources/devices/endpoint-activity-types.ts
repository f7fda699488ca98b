/**
 * Everything that an appliance reports about its replication and running.
 * @source docs/decisions/0042-api-contract.md
 */
export const ENDPOINT_ACTIVITY_TYPES = [
  "recipient-group-delete",
  "recipient-group-create",
  "recipient-group-update",
  "recipient-group-sync",
  "recipient-group-dependency-sync",
  "message-delete",
  "message-skipped",
  "message-create",
  "message-update",
  "message-sync",
  "message-dependency-sync",
  "scheduled-broadcast-create",
  "scheduled-broadcast-update",
  "scheduled-broadcast-delete",
  "scheduled-broadcast-sync",
  "scheduled-broadcast-skipped",
  "broadcast-pending",
  "broadcast-complete",
  "broadcast-failed",
  "activation-group-sync",
  "phone-cache-distribute",
  "phone-auth-url-update",
  "phone-cache-rebuild",
  "phone-reset-pending",
  "onprem-server-broadcast-config-change",
  "full-resync",
  "upgrade",
  "upgrade-all",
  "replication-queue-reset",
  "collect-logs",
  "syncer-startup",
  "log-message",
  "phone-cache-update",
  "phone-cache-full-delta-update",
  "phone-cache-partial-update",
  "axl-result",
  "device-sync",
  "replication-clean-up",
  "restart",
  "backup",
  "callaware-recording",
] as const;

/**
 * Types that clients with put permission on the endpoint may create, as commands.
 * @source docs/decisions/0012-extensions-and-endpoints.md
 */
export const ENDPOINT_COMMAND_TYPES = [
  "restart",
  "backup",
  "collect-logs",
  "device-sync",
  "phone-cache-rebuild",
  "full-resync",
  "upgrade",
  "upgrade-all",
  "replication-queue-reset",
  "replication-clean-up",
] as const satisfies readonly (typeof ENDPOINT_ACTIVITY_TYPES)[number][];
