/**
 * Facts of the API description and the field digest, copied by hand from those documents: what a declaration must say
 * of a field. `values` are compared whole, in any order.
 */
export const FIELD_FACTS: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  users: {
    name: { kind: "text", max: 140, required: true },
    email: { kind: "text", max: 254 },
    type: { values: ["regular", "anonymous", "application", "endpoint", "support"] },
    idleTimeout: { min: 5, max: 720, unit: "min" },
  },
  "user-tokens": { name: { required: true }, expires: { kind: "timestamp" } },
  "user-devices": {
    type: { kind: "text", max: 140, required: true },
    name: { max: 255 },
    deviceIdentifier: { max: 4096 },
    clientIdentifier: { max: 4096 },
    client: { max: 140 },
    build: { max: 255 },
    os: { max: 255 },
  },
  subscriptions: {
    userId: { to: "users", required: true, embed: "user" },
    distributionListId: { to: "distribution-lists", required: true, embed: "distributionList" },
    subscriptionEndDate: { kind: "timestamp" },
  },
  "security-groups": { name: { min: 1, max: 140, required: true }, superGroup: { kind: "boolean" } },
  "security-group-permissions": {
    spec: { max: 1000, required: true },
    verb: { values: ["get", "put", "post", "delete"], required: true },
  },
  "user-permissions": { spec: { max: 1000 }, verb: { values: ["get", "put", "post", "delete"] } },
  domains: { name: { required: true }, parentId: { to: "domains", createOnly: true }, namePath: { readOnly: true } },
  triggers: {
    name: { max: 140, required: true },
    spec: { max: 1000, required: true },
    type: { values: ["webhook"], required: true },
    url: { max: 1000, required: true },
  },
  "distribution-lists": { name: { max: 140, required: true }, isSubscribable: { kind: "boolean" } },
  "confirmation-requests": {
    name: { max: 140, required: true },
    options: { kind: "list", minItems: 1, required: true },
    expirationPeriod: { kind: "integer", unit: "s" },
    initiateTrackingOptions: { kind: "list" },
  },
  "dynamic-replies": {
    optionLabel: { required: true },
    first: { max: 255 },
    rest: { max: 255 },
    every: { max: 255 },
    quota: { kind: "integer" },
  },
  "escalation-rules": {
    delay: { kind: "integer", required: true },
    optionLabel: { required: true },
    comparison: { values: ["GT", "LT", "EQ", "NE"], required: true },
    comparisonValue: { kind: "integer", required: true },
    subject: { max: 255, required: true },
    body: { max: 10_000 },
    image: { kind: "file" },
    audio: { kind: "file" },
  },
  "message-templates": {
    name: { max: 140, required: true },
    subject: { max: 255, required: true },
    body: { max: 10_000 },
    ttsType: { values: ["none", "subject", "body", "subject-and-body", "custom-text"], default: "none" },
    ttsVoiceId: { embed: "voice" },
    imageAltText: { max: 140 },
    priority: { values: ["critical", "normal"] },
    subjectDisplay: { values: ["show", "hide", "auto"], default: "auto" },
    subjectCustomizable: { kind: "boolean", default: false },
    metadataCustomizable: { kind: "boolean" },
    image: { kind: "file", types: ["image/png", "image/jpeg", "image/gif"] },
  },
  notifications: {
    subject: { min: 1, max: 255 },
    body: { max: 10_000 },
    initiatorId: { to: "users", embed: "initiator", readOnly: true },
    messageTemplateId: { to: "message-templates", embed: "messageTemplate" },
    priority: { values: ["critical", "normal"] },
    drill: { kind: "boolean", createOnly: true, default: false },
    expiresAt: { readOnly: true },
    abortedAt: { readOnly: true },
  },
  "notification-activities": {
    readStatus: { values: ["read", "unread"] },
    confirmationOption: { max: 140 },
    type: { required: true },
  },
  deliveries: {
    level: {
      values: ["planned", "sent", "accepted", "playing", "heard", "confirmed", "failed", "skipped", "expired"],
    },
  },
  extensions: {
    name: { required: true },
    type: { values: ["device", "device-filter", "endpoint-proxy", "collaboration", "report"] },
    deviceLimit: { kind: "integer" },
  },
  endpoints: {
    isCucmMigrated: { kind: "boolean", readOnly: true },
    config: { kind: "json" },
    devices: { kind: "json" },
  },
  "endpoint-activities": {
    type: { required: true },
    referenceType: { values: ["message-template", "distribution-list", "scheduled-notifications"] },
    state: { values: ["pending", "fail", "success"] },
    severity: { values: ["debug", "info", "warn", "error"] },
  },
  devices: {
    deviceIdentifier: { required: true, unique: true },
    description: { required: true },
    type: { values: ["phones", "speakers", "plugins", "idns"], required: true },
    attributes: { kind: "json" },
  },
  "device-groups": {
    name: { max: 140, required: true },
    filterType: { values: ["OR", "AND", "ACCEPT", "REJECT", "LOGICAL_EXPRESSION"] },
    baseDeviceGroupIds: { to: "device-groups", embed: "baseDeviceGroups" },
    additionIds: { kind: "list" },
    exclusionIds: { kind: "list" },
    filters: { kind: "json" },
  },
};

/** Creation limits: most rows, and the field they are counted per. */
export const ROW_LIMITS: Readonly<Record<string, { most: number; per?: string; until?: string }>> = {
  domains: { most: 200 },
  "distribution-lists": { most: 3_500 },
  "device-groups": { most: 3_500 },
  "message-templates": { most: 3_500 },
  subscriptions: { most: 100_000, per: "distributionListId", until: "subscriptionEndDate" },
};

/** Enumerations that are long: the number of words and some of them. */
export const LONG_ENUMERATIONS: readonly { resource: string; field: string; count: number; some: string[] }[] = [
  {
    resource: "message-templates",
    field: "alertTone",
    count: 43,
    some: ["default", "911-dialed", "all-clear1", "silent"],
  },
  {
    resource: "notifications",
    field: "alertTone",
    count: 43,
    some: ["class-change6", "lockdown-3-pulses", "evacuate4"],
  },
  {
    resource: "notifications",
    field: "notificationSource",
    count: 27,
    some: ["api", "bell-schedule", "unknown-source"],
  },
  { resource: "notification-activities", field: "type", count: 43, some: ["abort", "expire", "tracking-terminated"] },
  {
    resource: "endpoint-activities",
    field: "type",
    count: 41,
    some: ["recipient-group-delete", "callaware-recording"],
  },
];

/** Where each resource is served and what may be done there (g get, p post, u put, d delete). */
export const PATHS: Readonly<Record<string, string>> = {
  domains: "gpud",
  users: "gpud",
  "users/{userId}/tokens": "gpd",
  "users/{userId}/devices": "gpud",
  "users/{userId}/subscriptions": "gpud",
  "distribution-lists/{distributionListId}/user-subscriptions": "gpud",
  "security-groups": "gpud",
  "security-groups/{securityGroupId}/members": "gpd",
  "users/{userId}/security-groups": "gpd",
  "security-groups/{securityGroupId}/permissions": "gpud",
  "users/{userId}/user-permissions": "gpud",
  "distribution-lists": "gpud",
  "confirmation-requests": "gpud",
  "confirmation-requests/{confirmationRequestId}/dynamic-replies": "gpud",
  "confirmation-requests/{confirmationRequestId}/escalation-rules": "gpud",
  "message-templates": "gpud",
  notifications: "gpd",
  "users/{userId}/notifications": "gd",
  "notifications/{notificationId}/recipients": "g",
  "notifications/{notificationId}/devices": "g",
  "notifications/{notificationId}/activities": "g",
  "users/{userId}/notifications/{notificationId}/activities": "g",
  extensions: "gpud",
  "extensions/{extensionId}/endpoints": "gpud",
  "extensions/{extensionId}/attachments": "gpd",
  "extensions/{extensionId}/endpoints/{endpointId}/activities": "gp",
  devices: "g",
  "extensions/{extensionId}/endpoints/{endpointId}/devices": "gpud",
  "extensions/{extensionId}/devices": "gpud",
  "device-groups": "gpud",
  "scim-groups": "gpud",
  "security-groups/{securityGroupId}/scim-groups": "gpd",
  "distribution-lists/{distributionListId}/scim-groups": "gpd",
  triggers: "gpud",
  "triggers/{triggerId}/deliveries": "g",
};
