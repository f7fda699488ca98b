const ID = "0190b7c2-7f3a-7000-8000-3f1d2c4b5a69";
const OTHER_ID = "0190b7c2-7f3a-7000-8000-3f1d2c4b5a6a";
const EMAIL = "name@example.org";
const PASSWORD = "green ladders every morning";
const CODE = "123456";
const LATER = "2100-01-01T00:00:00.000Z";
const PEM = (kind: string): string => `-----BEGIN ${kind}-----\nMIIB…\n-----END ${kind}-----\n`;

/**
 * Examples of bodies that are no rows, by operation: what a client usually sends. Bodies of rows are made of their fields.
 */
export const EXAMPLE_BODIES: Readonly<Record<string, unknown>> = {
  "post answer/{token}": { option: "Yes" },
  "post authorize": { form_token: "…", decision: "allow", email: EMAIL, password: PASSWORD },
  "post confirm-join/{token}": { code: CODE },
  "post invitation": { code: "ABCD-EFGH", name: "Ann" },
  "post join/{distributionListId}": { name: "Ann", email: EMAIL, phone: "+49 30 5550100" },
  "post log-in/{identityProviderId}/back-channel-logout": { logout_token: "eyJhbGciOi…" },
  "post log-in/{identityProviderId}/consume": { SAMLResponse: "PHNhbWxwOlJlc3BvbnNl…", RelayState: "…" },
  "post login": { email: EMAIL, password: PASSWORD },
  "post login/forgotten-password": { email: EMAIL },
  "post login/password": { token: "…", password: PASSWORD },
  "post login/second-factor": { code: CODE },
  "post onprem/v1/messages/{messageTemplateId}": { recipients: [{ id: ID, type: "device-group" }], drill: true },
  "post revoke": { client_id: ID, client_secret: "…", token: "…", token_type_hint: "refresh_token" },
  "post setup": { code: "ABCD-EFGH", email: EMAIL, password: PASSWORD, name: "Ann" },
  "post token": { grant_type: "client_credentials", client_id: ID, client_secret: "…", audience: OTHER_ID },
  "post alarms/{alarmId}/acknowledge": { note: "The switch of the gym is being replaced." },
  "post bell-schedules/{bellScheduleId}/feeds": { name: "Staff room calendar" },
  "post calendar-subscriptions/{calendarSubscriptionId}/confirmation": { pendingId: ID },
  "put certificate": { certificate: PEM("CERTIFICATE"), key: PEM("PRIVATE KEY") },
  "post extensions/{extensionId}/devices": {
    ...{ endpointId: ID, deviceIdentifier: "SEP001122334455", description: "Office", type: "phones" },
    attributes: { Location: "Office" },
  },
  "post incidents/{incidentId}/site": { siteId: ID },
  "put licence": { document: '{"payload":"…","signature":"…"}' },
  "post link": { hub: "https://cloud.example.org", code: "ABCD-EFGH-JKLM", mode: "adopt" },
  "put link/appliances/{endpointId}": { domainIds: [ID] },
  "post link/codes": { endpointId: ID },
  "put notification-profiles/{notificationProfileId}/settings/{settingId}": { disabled: true },
  "post notifications/{notificationId}/activities": { type: "expire", comment: "False alarm" },
  "post notifications/{notificationId}/all-clear": { subject: "All clear", body: "Please return to your rooms." },
  "post scenario-notifications": {
    scenarioId: ID,
    drill: true,
    fields: [{ fieldVariable: "what", answer: "Smoke" }],
    location: { site: { name: "Main building" } },
  },
  "post scim-tokens": { name: "Directory", expires: LATER },
  "post session/confirmation": { currentPassword: PASSWORD },
  "put sites/{siteId}/buildings/{buildingId}/reorder-floors": { floors: [ID, OTHER_ID] },
  "post tts": { ttsType: "subject", subject: "Fire drill" },
  "post users/{userId}/authenticator-app": { currentPassword: PASSWORD },
  "post users/{userId}/authenticator-app/confirmation": { code: CODE },
  "post users/{userId}/devices/{deviceId}/locations": {
    ...{ latitude: 52.52, longitude: 13.405, accuracyInM: 12, at: "2026-01-12T08:00:00.000Z" },
  },
  "post users/{userId}/notifications/{notificationId}/activities": {
    type: "set-read-status",
    details: { readStatus: "read" },
  },
  "put users/{userId}/password": { password: PASSWORD, currentPassword: "nine slow ferries at noon" },
  "put users/{userId}/profile": { name: "Ann", preferredLanguage: "de-DE", preferredTimezone: "Europe/Berlin" },
  "post users/{userId}/recovery-codes": { currentPassword: PASSWORD },
  "post users/{userId}/second-factor-removal": { currentPassword: PASSWORD },
  "put users/{userId}/subscribable-distribution-lists/{distributionListId}": { subscribe: true },
  "post users/{userId}/tokens": { name: "Scripts", expires: LATER, addresses: ["192.0.2.0/24"] },
};
