import { derivedId } from "../../lib/ids.ts";

/** Name of the extension that contains all appliances. @source docs/decisions/0012-extensions-and-endpoints.md */
export const ONPREM_NAME = "onprem";

/** Its id, the same on every installation. */
export const ONPREM_EXTENSION_ID = derivedId("extension", ONPREM_NAME);
