/** Sources of notifications. @source docs/decisions/0014-enumerations.md */
export const NOTIFICATION_SOURCES = [
  "administration-console",
  "alarm",
  "api",
  "area-of-interest-boundary-trigger",
  "bell-schedule",
  "ca-redirect",
  "ca-routing-request",
  "confirmation-request-escalation-rule",
  "dial-cast",
  "inbound-cap",
  "inbound-email",
  "incident",
  "m2m",
  "mobile-app",
  "night-bell",
  "onprem-delta-sync-error-event",
  "onprem-server-red",
  "onprem-server-yellow",
  "panic-button",
  "scheduled-notification",
  "sis-loader-failed",
  "speakers-unregistered",
  "standard-scenario",
  "token-expiration",
  "license-violation",
  "phone-cache-update-failed",
  "unknown-source",
] as const;

/** A notification source. */
export type NotificationSource = (typeof NOTIFICATION_SOURCES)[number];
