import { derivedId } from "../../lib/ids.ts";

/** Name of the one extension behind which all appliances stand. @source interfaces.md, Extensions, endpoints, devices */
export const ONPREM_NAME = "onprem";

/** Its id, the same on every installation. */
export const ONPREM_EXTENSION_ID = derivedId("extension", ONPREM_NAME);
