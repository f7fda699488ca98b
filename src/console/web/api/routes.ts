import type { paths } from "#client";

type MethodsOf<P> = {
  [M in RouteMethod & keyof P]: [Exclude<P[M], undefined>] extends [never] ? never : M;
}[RouteMethod & keyof P];

/** The routes that the API's description has below `/v1/`, each with the methods that it serves. */
type Served = {
  readonly [P in keyof paths as P extends `/v1/${infer R}` ? R : never]?: {
    resource: string;
    methods: readonly MethodsOf<paths[P]>[];
  };
};

/**
 * Every route below `/api/v1/` that the console calls, with its methods and the resource whose changes invalidate its
 * responses. A rule test compares the list with the declarations.
 */
export const ROUTES = {
  session: { resource: "session", methods: ["get", "delete"] },
  "session/passkey-options": { resource: "session", methods: ["post"] },
  "session/confirmation": { resource: "session", methods: ["post"] },
  licence: { resource: "devices", methods: ["get", "put", "delete"] },
  certificate: { resource: "endpoints", methods: ["get", "put", "delete"] },
  settings: { resource: "endpoints", methods: ["get"] },
  backups: { resource: "endpoint-activities", methods: ["get"] },
  "time-zone-data": { resource: "endpoints", methods: ["get"] },
  "session/domains": { resource: "domains", methods: ["get"] },
  notifications: { resource: "notifications", methods: ["get", "post"] },
  "notifications/{notificationId}": { resource: "notifications", methods: ["get", "delete"] },
  "notifications/{notificationId}/audio": { resource: "notifications", methods: ["get"] },
  "notifications/{notificationId}/devices": { resource: "deliveries", methods: ["get"] },
  "notifications/{notificationId}/activities": { resource: "notification-activities", methods: ["get", "post"] },
  "notifications/{notificationId}/retry": { resource: "notifications", methods: ["post"] },
  "notifications/{notificationId}/all-clear": { resource: "notifications", methods: ["post"] },
  "notifications/{notificationId}/approval": { resource: "notifications", methods: ["post"] },
  "notifications/{notificationId}/progress": { resource: "deliveries", methods: ["get"] },
  "notifications/{notificationId}/roll-call": { resource: "notification-activities", methods: ["get"] },
  "notifications/{notificationId}/rooms": { resource: "deliveries", methods: ["get"] },
  emergencies: { resource: "message-templates", methods: ["get"] },
  "alert-tones/{alertTone}/audio": { resource: "message-templates", methods: ["get"] },
  "message-templates": { resource: "message-templates", methods: ["get", "post"] },
  "message-templates/{messageTemplateId}": { resource: "message-templates", methods: ["get", "put", "delete"] },
  "message-templates/{messageTemplateId}/opt-outs": { resource: "opt-outs", methods: ["get"] },
  "message-templates/{messageTemplateId}/opt-outs/{optOutId}": { resource: "opt-outs", methods: ["delete"] },
  "confirmation-requests": { resource: "confirmation-requests", methods: ["get", "post"] },
  "confirmation-requests/{confirmationRequestId}": {
    resource: "confirmation-requests",
    methods: ["get", "put", "delete"],
  },
  devices: { resource: "devices", methods: ["get"] },
  "devices/{deviceId}/activation": { resource: "activation-groups", methods: ["get"] },
  "devices/{deviceId}/zone.sdp": { resource: "devices", methods: ["get"] },
  "devices/{deviceId}/phone-configuration": { resource: "devices", methods: ["post"] },
  "devices/{deviceId}/quiet-test": { resource: "devices", methods: ["post"] },
  "activation-groups": { resource: "activation-groups", methods: ["get", "post"] },
  "activation-groups/{activationGroupId}": { resource: "activation-groups", methods: ["get", "put", "delete"] },
  "callmgr-clusters": { resource: "callmgr-clusters", methods: ["get", "post"] },
  "callmgr-clusters/{cucmClusterId}": { resource: "callmgr-clusters", methods: ["get", "put", "delete"] },
  "callmgr-clusters/{cucmClusterId}/connection-test": { resource: "callmgr-clusters", methods: ["post"] },
  "callmgr-clusters/{cucmClusterId}/phone-cache": { resource: "callmgr-clusters", methods: ["get", "post"] },
  "callmgr-clusters/{cucmClusterId}/onprem-servers": { resource: "callmgr-onprem-servers", methods: ["get", "post"] },
  "callmgr-clusters/{cucmClusterId}/onprem-servers/{onpremServerId}": {
    resource: "callmgr-onprem-servers",
    methods: ["get", "put", "delete"],
  },
  link: { resource: "link", methods: ["get", "post", "delete"] },
  "link/initial-sync": { resource: "link", methods: ["post"] },
  "link/conflicts": { resource: "endpoints", methods: ["get"] },
  "link/conflicts/{conflictId}": { resource: "endpoints", methods: ["delete"] },
  "link/conflicts/{conflictId}/use-site-value": { resource: "endpoints", methods: ["post"] },
  "link/appliances": { resource: "endpoints", methods: ["get"] },
  "link/appliances/{endpointId}": { resource: "endpoints", methods: ["delete"] },
  "appliance-upgrades": { resource: "appliance-upgrades", methods: ["get", "post"] },
  "appliance-upgrades/{applianceUpgradeId}/turns": { resource: "appliance-upgrade-turns", methods: ["get"] },
  "appliance-upgrades/{applianceUpgradeId}/pause": { resource: "appliance-upgrades", methods: ["post"] },
  "appliance-upgrades/{applianceUpgradeId}/resume": { resource: "appliance-upgrades", methods: ["post"] },
  "appliance-upgrades/{applianceUpgradeId}/cancel": { resource: "appliance-upgrades", methods: ["post"] },
  "link/codes": { resource: "endpoints", methods: ["get", "post"] },
  "link/codes/{codeId}": { resource: "endpoints", methods: ["delete"] },
  "failover-pairs": { resource: "failover-pairs", methods: ["get", "post"] },
  "failover-pairs/{failoverPairId}": { resource: "failover-pairs", methods: ["get", "put", "delete"] },
  "start-delays": { resource: "devices", methods: ["get"] },
  "health-series": { resource: "system-health-events", methods: ["get"] },
  "system-health-events": { resource: "system-health-events", methods: ["get"] },
  runs: { resource: "system-health-events", methods: ["get"] },
  "device-groups": { resource: "device-groups", methods: ["get", "post"] },
  "device-groups/{deviceGroupId}/devices": { resource: "devices", methods: ["get"] },
  "device-groups/{deviceGroupId}": { resource: "device-groups", methods: ["get", "put", "delete"] },
  "distribution-lists": { resource: "distribution-lists", methods: ["get", "post"] },
  "distribution-lists/{distributionListId}": { resource: "distribution-lists", methods: ["get", "put", "delete"] },
  "distribution-lists/{distributionListId}/user-subscriptions": {
    resource: "subscriptions",
    methods: ["get", "post"],
  },
  "distribution-lists/{distributionListId}/user-subscriptions/{subscriptionId}": {
    resource: "subscriptions",
    methods: ["put", "delete"],
  },
  domains: { resource: "domains", methods: ["get", "post"] },
  "domains/{domainId}": { resource: "domains", methods: ["get", "put", "delete"] },
  "domains/{domainId}/users": { resource: "users", methods: ["get", "post"] },
  "domains/{domainId}/users/{userId}": { resource: "users", methods: ["delete"] },
  "domains/{domainId}/distribution-lists": { resource: "distribution-lists", methods: ["get", "post"] },
  "domains/{domainId}/distribution-lists/{distributionListId}": { resource: "distribution-lists", methods: ["delete"] },
  "domains/{domainId}/device-groups": { resource: "device-groups", methods: ["get", "post"] },
  "domains/{domainId}/device-groups/{deviceGroupId}": { resource: "device-groups", methods: ["delete"] },
  "domains/{domainId}/message-templates": { resource: "message-templates", methods: ["get", "post"] },
  "domains/{domainId}/message-templates/{messageTemplateId}": { resource: "message-templates", methods: ["delete"] },
  "domains/{domainId}/security-groups": { resource: "security-groups", methods: ["get", "post"] },
  "domains/{domainId}/security-groups/{securityGroupId}": { resource: "security-groups", methods: ["delete"] },
  "domains/{domainId}/confirmation-requests": { resource: "confirmation-requests", methods: ["get", "post"] },
  "domains/{domainId}/confirmation-requests/{confirmationRequestId}": {
    resource: "confirmation-requests",
    methods: ["delete"],
  },
  "permission-explanations": { resource: "users", methods: ["get"] },
  users: { resource: "users", methods: ["get", "post"] },
  "users/{userId}": { resource: "users", methods: ["get", "put", "delete"] },
  "users/{userId}/subscriptions": { resource: "subscriptions", methods: ["get", "post"] },
  "users/{userId}/subscriptions/{subscriptionId}": { resource: "subscriptions", methods: ["put", "delete"] },
  "users/{userId}/devices": { resource: "user-devices", methods: ["get", "post"] },
  "users/{userId}/devices/{deviceId}": { resource: "user-devices", methods: ["put", "delete"] },
  "users/{userId}/invitations": { resource: "user-tokens", methods: ["post"] },
  "users/{userId}/tokens": { resource: "user-tokens", methods: ["get", "post"] },
  "users/{userId}/access-revocation": { resource: "user-tokens", methods: ["post"] },
  "users/{userId}/tokens/{tokenId}": { resource: "user-tokens", methods: ["delete"] },
  "users/{userId}/security-groups": { resource: "security-group-members", methods: ["get", "post"] },
  "users/{userId}/security-groups/{securityGroupId}": { resource: "security-group-members", methods: ["delete"] },
  "users/{userId}/user-permissions": { resource: "user-permissions", methods: ["get", "post"] },
  "users/{userId}/user-permissions/{userPermissionId}": { resource: "user-permissions", methods: ["delete"] },
  "security-groups": { resource: "security-groups", methods: ["get", "post"] },
  "security-groups/{securityGroupId}": { resource: "security-groups", methods: ["get", "put", "delete"] },
  "security-groups/{securityGroupId}/clone": { resource: "security-groups", methods: ["post"] },
  "security-groups/{securityGroupId}/members": { resource: "security-group-members", methods: ["get", "post"] },
  "security-groups/{securityGroupId}/members/{memberId}": { resource: "security-group-members", methods: ["delete"] },
  "security-groups/{securityGroupId}/permissions": {
    resource: "security-group-permissions",
    methods: ["get", "post"],
  },
  "security-groups/{securityGroupId}/permissions/{permissionId}": {
    resource: "security-group-permissions",
    methods: ["delete"],
  },
  "security-groups/{securityGroupId}/clone-to-domains": { resource: "security-groups", methods: ["post"] },
  "security-groups/{securityGroupId}/allowed-message-templates": {
    resource: "security-groups",
    methods: ["get", "post"],
  },
  "security-groups/{securityGroupId}/allowed-message-templates/{allowedMessageTemplateId}": {
    resource: "security-groups",
    methods: ["delete"],
  },
  "security-groups/{securityGroupId}/scim-groups": { resource: "security-group-scim-groups", methods: ["get", "post"] },
  "security-groups/{securityGroupId}/scim-groups/{scimGroupId}": {
    resource: "security-group-scim-groups",
    methods: ["delete"],
  },
  "distribution-lists/{distributionListId}/scim-groups": {
    resource: "distribution-list-scim-groups",
    methods: ["get", "post"],
  },
  "distribution-lists/{distributionListId}/scim-groups/{scimGroupId}": {
    resource: "distribution-list-scim-groups",
    methods: ["delete"],
  },
  "identity-providers": { resource: "identity-providers", methods: ["get", "post"] },
  "identity-providers/{identityProviderId}": { resource: "identity-providers", methods: ["get", "put", "delete"] },
  "identity-providers/{identityProviderId}/connection-test": { resource: "identity-providers", methods: ["post"] },
  "identity-providers/{identityProviderId}/sync": { resource: "identity-providers", methods: ["post"] },
  "scim-groups": { resource: "scim-groups", methods: ["get", "post"] },
  "scim-groups/{scimGroupId}": { resource: "scim-groups", methods: ["get", "put", "delete"] },
  "scim-groups/{scimGroupId}/members": { resource: "scim-group-members", methods: ["get", "post"] },
  "scim-groups/{scimGroupId}/members/{memberId}": { resource: "scim-group-members", methods: ["delete"] },
  "users/{userId}/profile": { resource: "users", methods: ["get", "put"] },
  "users/{userId}/password": { resource: "users", methods: ["put"] },
  "users/{userId}/password-link": { resource: "users", methods: ["post"] },
  "users/{userId}/second-factors": { resource: "second-factors", methods: ["get"] },
  "users/{userId}/authenticator-app": { resource: "second-factors", methods: ["post"] },
  "users/{userId}/authenticator-app/confirmation": { resource: "second-factors", methods: ["post"] },
  "users/{userId}/passkey-options": { resource: "second-factors", methods: ["post"] },
  "users/{userId}/passkeys": { resource: "second-factors", methods: ["post"] },
  "users/{userId}/recovery-codes": { resource: "second-factors", methods: ["post"] },
  "users/{userId}/second-factor-removal": { resource: "second-factors", methods: ["post"] },
  audit: { resource: "audit-entries", methods: ["get"] },
  "audit/{auditEntryId}": { resource: "audit-entries", methods: ["get"] },
  "audit/verification": { resource: "audit-entries", methods: ["get"] },
  "scim-tokens": { resource: "scim-tokens", methods: ["get", "post"] },
  "scim-tokens/{scimTokenId}": { resource: "scim-tokens", methods: ["get", "delete"] },
  "scim-status": { resource: "scim-tokens", methods: ["get"] },
  applications: { resource: "applications", methods: ["get", "post"] },
  "applications/{applicationId}": { resource: "applications", methods: ["get", "put", "delete"] },
  "applications/{applicationId}/rotate-secret": { resource: "applications", methods: ["post"] },
  alarms: { resource: "alarms", methods: ["get"] },
  "alarms/{alarmId}": { resource: "alarms", methods: ["get", "put"] },
  "alarms/{alarmId}/acknowledge": { resource: "alarms", methods: ["post"] },
  "alarms/{alarmId}/events": { resource: "alarm-events", methods: ["get"] },
  "alarms/{alarmId}/actions": { resource: "alarm-actions", methods: ["get", "post"] },
  "alarms/{alarmId}/actions/{actionId}": { resource: "alarm-actions", methods: ["get", "put", "delete"] },
  "alarms/{alarmId}/mutes": { resource: "alarm-mutes", methods: ["get", "post"] },
  "alarms/{alarmId}/mutes/{muteId}": { resource: "alarm-mutes", methods: ["get", "put", "delete"] },
  "alarms/{alarmId}/mute-preview": { resource: "alarm-events", methods: ["get"] },
  triggers: { resource: "triggers", methods: ["get", "post"] },
  "triggers/{triggerId}": { resource: "triggers", methods: ["get", "put", "delete"] },
  "triggers/{triggerId}/rotate-secret": { resource: "triggers", methods: ["post"] },
  "triggers/{triggerId}/deliveries": { resource: "trigger-deliveries", methods: ["get"] },
  "triggers/{triggerId}/deliveries/{deliveryId}/replay": { resource: "trigger-deliveries", methods: ["post"] },
  scenarios: { resource: "scenarios", methods: ["get", "post"] },
  "scenarios/{scenarioId}": { resource: "scenarios", methods: ["get", "put", "delete"] },
  "scenarios/{scenarioId}/clone": { resource: "scenarios", methods: ["post"] },
  "scenarios/{scenarioId}/rule-actions": { resource: "rule-actions", methods: ["get", "post"] },
  "scenarios/{scenarioId}/rule-actions/{ruleActionId}": { resource: "rule-actions", methods: ["delete"] },
  "scenario-notifications": { resource: "scenario-notifications", methods: ["get", "post"] },
  "incident-plans": { resource: "incident-plans", methods: ["get", "post"] },
  "incident-plans/{incidentPlanId}": { resource: "incident-plans", methods: ["get", "put", "delete"] },
  "incident-plans/{incidentPlanId}/resources": { resource: "incident-plan-resources", methods: ["get", "post"] },
  "incident-plans/{incidentPlanId}/resources/{resourceId}": {
    resource: "incident-plan-resources",
    methods: ["delete"],
  },
  "incident-plans/{incidentPlanId}/resources/{resourceId}/file": {
    resource: "incident-plan-resources",
    methods: ["get"],
  },
  incidents: { resource: "incidents", methods: ["get", "post"] },
  "incidents/{incidentId}": { resource: "incidents", methods: ["get"] },
  "incidents/{incidentId}/activities": { resource: "incidents", methods: ["post"] },
  "incidents/{incidentId}/timeline": { resource: "incidents", methods: ["get"] },
  "incidents/{incidentId}/roster": { resource: "incidents", methods: ["get"] },
  "incidents/{incidentId}/report/page": { resource: "incidents", methods: ["get"] },
  "incidents/{incidentId}/message-templates": { resource: "message-templates", methods: ["get"] },
  "incidents/{incidentId}/resources": { resource: "incident-resources", methods: ["get", "post"] },
  "incidents/{incidentId}/resources/{resourceId}": { resource: "incident-resources", methods: ["delete"] },
  "incidents/{incidentId}/resources/{resourceId}/file": { resource: "incident-resources", methods: ["get"] },
  "bulk-uploads": { resource: "bulk-uploads", methods: ["get", "post"] },
  "bulk-uploads/{bulkUploadId}": { resource: "bulk-uploads", methods: ["get", "delete"] },
  "bulk-uploads/{bulkUploadId}/file": { resource: "bulk-uploads", methods: ["put"] },
  "bulk-uploads/{bulkUploadId}/commit": { resource: "bulk-uploads", methods: ["post"] },
  "bulk-uploads/{bulkUploadId}/logs": { resource: "bulk-upload-logs", methods: ["get"] },
  "bulk-uploads/templates/{resourceType}": { resource: "bulk-uploads", methods: ["get"] },
  "load-definitions": { resource: "load-definitions", methods: ["get", "post"] },
  "load-definitions/{loadDefinitionId}": { resource: "load-definitions", methods: ["get", "put", "delete"] },
  "load-definitions/{loadDefinitionId}/file": { resource: "load-definitions", methods: ["put"] },
  "load-definitions/{loadDefinitionId}/runs": { resource: "load-runs", methods: ["get", "post"] },
  "extensions/{extensionId}/attachments": { resource: "extension-attachments", methods: ["get", "post"] },
  "extensions/{extensionId}/attachments/{attachmentId}": { resource: "extension-attachments", methods: ["delete"] },
  "extensions/{extensionId}/attachments/{attachmentId}/file": { resource: "extension-attachments", methods: ["get"] },
  extensions: { resource: "extensions", methods: ["get"] },
  "extensions/{extensionId}": { resource: "extensions", methods: ["get", "put"] },
  "extensions/{extensionId}/restart": { resource: "extensions", methods: ["post"] },
  "extensions/{extensionId}/log": { resource: "extensions", methods: ["get"] },
  "extensions/{extensionId}/endpoints/{endpointId}": { resource: "endpoints", methods: ["put"] },
  "extensions/{extensionId}/endpoints": { resource: "endpoints", methods: ["get"] },
  "extensions/{extensionId}/endpoints/{endpointId}/activities": {
    resource: "endpoint-activities",
    methods: ["get", "post"],
  },
  "extensions/{extensionId}/endpoints/{endpointId}/activities/{activityId}": {
    resource: "endpoint-activities",
    methods: ["get"],
  },
  "extensions/{extensionId}/endpoints/{endpointId}/devices": { resource: "devices", methods: ["get", "post"] },
  "extensions/{extensionId}/endpoints/{endpointId}/devices/{deviceId}": {
    resource: "devices",
    methods: ["get", "put", "delete"],
  },
  sites: { resource: "sites", methods: ["get", "post"] },
  "sites/{siteId}": { resource: "sites", methods: ["get", "put", "delete"] },
  "sites/{siteId}/buildings": { resource: "buildings", methods: ["get", "post"] },
  "sites/{siteId}/buildings/{buildingId}": { resource: "buildings", methods: ["get", "put", "delete"] },
  "sites/{siteId}/buildings/{buildingId}/floors": { resource: "floors", methods: ["get", "post"] },
  "sites/{siteId}/buildings/{buildingId}/floors/{floorId}": { resource: "floors", methods: ["get", "put", "delete"] },
  "sites/{siteId}/buildings/{buildingId}/reorder-floors": { resource: "floors", methods: ["put"] },
  "sites/{siteId}/buildings/{buildingId}/floors/{floorId}/floorPlanImage": { resource: "floors", methods: ["get"] },
  "sites/{siteId}/buildings/{buildingId}/floors/{floorId}/zones": { resource: "zones", methods: ["get", "post"] },
  "sites/{siteId}/buildings/{buildingId}/floors/{floorId}/zones/{zoneId}": {
    resource: "zones",
    methods: ["get", "put", "delete"],
  },
  "sites/{siteId}/recipients": { resource: "site-recipients", methods: ["get", "post"] },
  "sites/{siteId}/recipients/{recipientId}": { resource: "site-recipients", methods: ["get", "put", "delete"] },
  "site-roles": { resource: "site-roles", methods: ["get", "post"] },
  "site-roles/{siteRoleId}": { resource: "site-roles", methods: ["get", "put", "delete"] },
  "api-devices": { resource: "api-devices", methods: ["get", "post"] },
  "api-devices/{apiDeviceId}": { resource: "api-devices", methods: ["get", "put", "delete"] },
  "dialcast-dialing-configurations": { resource: "dialcast-dialing-configurations", methods: ["get", "post"] },
  "dialcast-dialing-configurations/{dialcastDialingConfigurationId}": {
    resource: "dialcast-dialing-configurations",
    methods: ["get", "put", "delete"],
  },
  "areas-of-interest": { resource: "areas-of-interest", methods: ["get", "post"] },
  "areas-of-interest/{areaOfInterestId}": { resource: "areas-of-interest", methods: ["get", "put", "delete"] },
  "areas-of-interest/{areaOfInterestId}/boundary-triggers": { resource: "boundary-triggers", methods: ["get", "post"] },
  "areas-of-interest/{areaOfInterestId}/boundary-triggers/{boundaryTriggerId}": {
    resource: "boundary-triggers",
    methods: ["get", "put", "delete"],
  },
  "areas-of-interest/{areaOfInterestId}/boundary-triggers/{boundaryTriggerId}/activities": {
    resource: "boundary-trigger-activities",
    methods: ["get"],
  },
  "bell-rings": { resource: "bell-rings", methods: ["get"] },
  "bell-schedules": { resource: "bell-schedules", methods: ["get", "post"] },
  "bell-schedules/{bellScheduleId}": { resource: "bell-schedules", methods: ["get", "put", "delete"] },
  "bell-schedules/{bellScheduleId}/clone": { resource: "bell-schedules", methods: ["post"] },
  "bell-schedules/{bellScheduleId}/rings": { resource: "bell-schedules", methods: ["get"] },
  "bell-schedules/{bellScheduleId}/overlaps": { resource: "bell-schedules", methods: ["get"] },
  "bell-schedules/{bellScheduleId}/holidays": { resource: "bell-schedules", methods: ["post"] },
  "bell-schedules/{bellScheduleId}/feeds": { resource: "bell-schedule-feeds", methods: ["get", "post"] },
  "bell-schedules/{bellScheduleId}/feeds/{feedId}": { resource: "bell-schedule-feeds", methods: ["delete"] },
  "bell-schedules-bulk-exceptions": { resource: "bell-schedules", methods: ["post"] },
  "bell-schedules-day-changes": { resource: "bell-schedules-day-changes", methods: ["get", "post"] },
  "bell-schedules-day-changes/{dayChangeId}": { resource: "bell-schedules-day-changes", methods: ["delete"] },
  "calendar-subscriptions": { resource: "calendar-subscriptions", methods: ["get", "post"] },
  "calendar-subscriptions/{calendarSubscriptionId}": {
    resource: "calendar-subscriptions",
    methods: ["get", "put", "delete"],
  },
  "calendar-subscriptions/{calendarSubscriptionId}/refresh": { resource: "calendar-subscriptions", methods: ["post"] },
  "calendar-subscriptions/{calendarSubscriptionId}/confirmation": {
    resource: "calendar-subscriptions",
    methods: ["post"],
  },
  "ring-lists": { resource: "ring-lists", methods: ["get", "post"] },
  "ring-lists/{ringListId}": { resource: "ring-lists", methods: ["get", "put", "delete"] },
  "ring-lists/{ringListId}/clone": { resource: "ring-lists", methods: ["post"] },
  "scheduled-notifications": { resource: "scheduled-notifications", methods: ["get", "post"] },
  "scheduled-notifications/{scheduledNotificationId}": {
    resource: "scheduled-notifications",
    methods: ["get", "put", "delete"],
  },
  "scheduled-notifications/{scheduledNotificationId}/clone": { resource: "scheduled-notifications", methods: ["post"] },
  "clear-devices-schedules": { resource: "clear-devices-schedules", methods: ["get", "post"] },
  "clear-devices-schedules/{clearDevicesScheduleId}": {
    resource: "clear-devices-schedules",
    methods: ["get", "put", "delete"],
  },
  brandings: { resource: "brandings", methods: ["get", "post"] },
  "brandings/{brandingId}": { resource: "brandings", methods: ["get", "put"] },
  "brandings/{brandingId}/logo": { resource: "brandings", methods: ["get"] },
  "collaboration-groups": { resource: "collaboration-groups", methods: ["get", "post"] },
  "collaboration-groups/{collaborationGroupId}": {
    resource: "collaboration-groups",
    methods: ["get", "put", "delete"],
  },
  "notification-profiles": { resource: "notification-profiles", methods: ["get", "post"] },
  "notification-profiles/{notificationProfileId}": {
    resource: "notification-profiles",
    methods: ["get", "put", "delete"],
  },
  "notification-profiles/{notificationProfileId}/clone": { resource: "notification-profiles", methods: ["post"] },
  "notification-profiles/{notificationProfileId}/settings": { resource: "notification-profiles", methods: ["get"] },
  "notification-profiles/{notificationProfileId}/settings/{settingId}": {
    resource: "notification-profiles",
    methods: ["put"],
  },
  "tts-voices": { resource: "tts-voices", methods: ["get"] },
  "tts-lexicons": { resource: "tts-lexicons", methods: ["get", "post"] },
  "tts-lexicons/{ttsLexiconId}": { resource: "tts-lexicons", methods: ["get", "put", "delete"] },
  "tts-defaults": { resource: "tts-defaults", methods: ["get"] },
  "tts-defaults/{ttsDefaultId}": { resource: "tts-defaults", methods: ["put"] },
  tts: { resource: "tts-voices", methods: ["post"] },
  "tts/{audioHash}": { resource: "tts-voices", methods: ["get"] },
} as const satisfies Served;

/** HTTP method of a route. */
export type RouteMethod = "get" | "post" | "put" | "delete";

/** One of the routes. */
export type Route = keyof typeof ROUTES;

/** The routes that are called with `M`. */
export type RouteFor<M extends RouteMethod> = {
  [R in Route]: M extends (typeof ROUTES)[R]["methods"][number] ? R : never;
}[Route];

/** Values for the braces of a route. */
export type RouteParams = Readonly<Record<string, string>>;

/** Query parameters; undefined ones are left out, lists are repeated as `name[]`. */
export type RouteQuery = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** The address of a route below `/api/v1/`, with its parameters filled in and escaped. */
export function routeUrl(route: Route, params: RouteParams = {}, query: RouteQuery = {}): string {
  const path = route.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (Array.isArray(value)) for (const each of value) search.append(`${name}[]`, each);
    else search.append(name, String(value));
  }
  const text = search.toString();
  return `/api/v1/${path}${text ? `?${text}` : ""}`;
}
