import { ALARM_TABLES } from "../alarms/room-tables.ts";
import { AREA_TABLES } from "../areas/room-tables.ts";
import { BELL_TABLES } from "../bells/room-tables.ts";
import { BROADCAST_TABLES } from "../broadcast/room-tables.ts";
import { CALL_MANAGER_TABLES } from "../call-manager/kept-plan.ts";
import { PLUGIN_TABLES } from "../extensions/plugin-host.ts";
import { IDENTITY_TABLES } from "../identity/seen.ts";
import { INPUT_TABLES } from "../inputs/room-tables.ts";
import { LOAD_TABLES } from "../loaders/load-steps.ts";
import { SCENARIO_TABLES } from "../scenarios/unknown-devices.ts";
import { LINK_TABLES } from "./linking.ts";
import { OPERATION_TABLES } from "./operations.ts";

/** Tables that rooms keep beside those of the declared resources. */
export const ROOM_TABLES = [
  ...BROADCAST_TABLES,
  ...PLUGIN_TABLES,
  ...LOAD_TABLES,
  ...SCENARIO_TABLES,
  ...AREA_TABLES,
  ...BELL_TABLES,
  ...ALARM_TABLES,
  ...INPUT_TABLES,
  ...OPERATION_TABLES,
  ...LINK_TABLES,
  ...CALL_MANAGER_TABLES,
  ...IDENTITY_TABLES,
];
