import { ALARM_TABLES } from "../alarms/schema.ts";
import { AREA_TABLES } from "../areas/schema.ts";
import { BELL_TABLES } from "../bells/schema.ts";
import { CALL_MANAGER_TABLES } from "../call-manager/phone-plan-journal.ts";
import { LOAD_TABLES } from "../importers/load-steps.ts";
import { INPUT_TABLES } from "../inputs/schema.ts";
import { NOTIFICATION_TABLES } from "../notifications/schema.ts";
import { PLUGIN_HOST_TABLES } from "../plugin-host/plugin-host.ts";
import { SCENARIO_TABLES } from "../scenarios/unknown-devices.ts";
import { SSO_TABLES } from "../sso/login-state-store.ts";
import { SYNC_TABLES } from "./cloud-link.ts";
import { OPS_TABLES } from "./operations.ts";

/** Internal tables of all modules, beside those of the declared resources. */
export const INTERNAL_TABLES = [
  ...NOTIFICATION_TABLES,
  ...PLUGIN_HOST_TABLES,
  ...LOAD_TABLES,
  ...SCENARIO_TABLES,
  ...AREA_TABLES,
  ...BELL_TABLES,
  ...ALARM_TABLES,
  ...INPUT_TABLES,
  ...OPS_TABLES,
  ...SYNC_TABLES,
  ...CALL_MANAGER_TABLES,
  ...SSO_TABLES,
];
