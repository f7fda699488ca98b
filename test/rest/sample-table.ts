/** What behaviours ask of values beyond the declarations. */
export const SAMPLE_TABLE = {
  "areas-of-interest.geometryValue": {
    type: "Feature",
    geometry: { type: "Point", coordinates: [179.9, -17] },
    properties: { radiusInM: 900 },
  },
  "areas-of-interest.syncedDeviceTypes": ["mobile"],
  "applications.redirectUris": ["https://app.example.org/back"],
  "applications.scopes": ["urn:service:users:read"],
  "confirmation-requests.options": ["Yes", "No"],
  "dynamic-replies.optionLabel": "Yes",
  "escalation-rules.optionLabel": "No",
  "device-groups.logicalExpression": null,
  "device-groups.filters": [
    { attribute: "Name", comparison: "EQUALS", value: "a", complement: false, caseSensitive: true },
  ],
  "bulk-uploads.endpointId": null,
  "load-definitions.schedule": "30 4 * * 1-5",
  "load-definitions.path": "people.csv",
  "incident-plan-resources.type": "hyperlink",
  "incident-resources.type": "hyperlink",
  "incident-activities.type": "note",
  "scenarios.confirmationPin": "1234",
  "scenarios.locationVariable": "where",
  "scenarios.messages": {
    needs: "message-templates",
    valueWith: (messageTemplateId: string) => [
      { id: "5c1e2a34-4f89-41d3-9a0c-0305e82c3302", name: "First", messageTemplateId },
    ],
  },
  "collaboration-groups.type": "chat-rooms",
  "ring-lists.entries": {
    needs: "message-templates",
    valueWith: (messageTemplateId: string) => [
      { id: "0190b7c2-7f3a-7000-8000-00000000be11", time: "08:00:00", messageTemplateId },
    ],
  },
  "bell-schedules.startDate": "2031-09-01",
  "bell-schedules.endDate": "2032-06-30",
  "bell-schedules.timeZone": "Europe/Berlin",
  "bell-schedules.bellScheduleEntries": {
    needs: "ring-lists",
    valueWith: (ringListId: string) => [{ entryNum: 0, ringListId }],
  },
  "bell-schedules.bellScheduleExceptions": [
    { startDate: "2031-12-22", endDate: "2032-01-02", ringListId: null, description: "Winter holidays" },
  ],
  "scheduled-notifications.schedule": "0 30 7 ? * MON-FRI",
  "scheduled-notifications.timeZone": "America/Chicago",
  "clear-devices-schedules.cronExpression": "0 0 18 * * ?",
  "devices.attributes": { Name: "Room 1" },
  "endpoint-activities.type": "restart",
  "security-group-permissions.spec": "/users/*",
  "user-permissions.spec": "/users/*",
  "user-devices.type": "SMS",
  // What is written is a report: it is read back as what became of it.
  "user-devices.presence": null,
  "triggers.spec": "/users/*",
  "triggers.secret": `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
};
