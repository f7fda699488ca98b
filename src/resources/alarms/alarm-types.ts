/** Fixed ids of the alarms by type. @source docs/decisions/0014-enumerations.md; docs/decisions/0042-api-contract.md */
export const ALARM_IDS = {
  onprem_server_red: "dcaca6f6-9d71-11eb-b775-0242ac110003",
  onprem_server_yellow: "cdcf1a88-9d71-11eb-b775-0242ac110003",
  license_violation: "e2125942-9d71-11eb-b775-0242ac110003",
  phone_cache_update_failed: "91b26697-934f-11ec-b6a2-99eae723bd46",
  sis_loader_failed: "a25f212f-9d71-11eb-b775-0242ac110003",
  speakers_unregistered: "f28b0080-9d71-11eb-b775-0242ac110003",
  onprem_delta_sync_error_event: "4f2a8452-71bc-11ed-aa23-9bc083285fdb",
  token_expiration: "5bcebefb-4d8c-11ee-85bb-c5b3d0db8947",
  scenario_device_resolution_failed: "e91f7c07-c9cc-11ee-9e02-51949edf0286",
} as const;

/** Kind of an alarm. */
export type AlarmType = keyof typeof ALARM_IDS;

/** All kinds. */
export const ALARM_TYPES = Object.keys(ALARM_IDS) as AlarmType[];

/** Statuses of an alarm. @source docs/decisions/0042-api-contract.md */
export const ALARM_STATUSES = ["OK", "ACTIVE"] as const;

/** Status of an alarm. */
export type AlarmStatus = (typeof ALARM_STATUSES)[number];
