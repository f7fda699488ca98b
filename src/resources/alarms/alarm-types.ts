/**
 * Fixed ids of the alarms by type. @source docs/decisions/0014-enumerations.md; docs/decisions/0042-api-contract.md;
 * docs/decisions/0440-device-outcomes.md; docs/decisions/0401-permission-rules.md, Trust; docs/decisions/0485-audit-entries.md
 */
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
  silent_devices: "5f2f2c1e-cad1-4b0e-9d6b-3a1f6a7c0440",
  missed_bells: "b3c0d7a4-1e7f-4a54-8f2e-90b6c2d50441",
  security_change: "2a62a19a-334d-449d-8d30-52e8a2ba77c5",
  login_attack: "6f0d1c52-57b8-4a0e-a0c5-2f3f7b6c0484",
} as const;

/** Type of an alarm. */
export type AlarmType = keyof typeof ALARM_IDS;

/** All alarm types. */
export const ALARM_TYPES = Object.keys(ALARM_IDS) as AlarmType[];

/** Alarms with a threshold per appliance: the threshold of an appliance without one, and the largest. */
export const ALARM_THRESHOLDS: Readonly<Partial<Record<AlarmType, { default: number; max: number }>>> = {
  /** Number of speakers. */
  speakers_unregistered: { default: 0, max: 1_000_000 },
  /** Percent of the devices that can respond. */
  silent_devices: { default: 5, max: 100 },
  /** Number of bells in 24 hours. */
  missed_bells: { default: 0, max: 1_000_000 },
  /** Number of refused log-ins and credentials in 15 minutes. */
  login_attack: { default: 100, max: 1_000_000 },
};

/** Statuses of an alarm. @source docs/decisions/0042-api-contract.md */
export const ALARM_STATUSES = ["OK", "ACTIVE"] as const;

/** Status of an alarm. */
export type AlarmStatus = (typeof ALARM_STATUSES)[number];
