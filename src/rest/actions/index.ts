import type { Catalogue } from "../../schema/catalogue.ts";
import type { Action } from "../action.ts";
import { cloneActions } from "./clone.ts";
import { deviceActions } from "./devices.ts";
import { domainActions } from "./domains.ts";
import { endpointActivityActions } from "./endpoint-activities.ts";
import { extensionActions } from "./extensions.ts";
import { notificationActivityActions } from "./notification-activities.ts";
import { notificationAudioActions } from "./notification-audio.ts";
import { notificationActions } from "./notifications.ts";
import { schemaActions } from "./schema.ts";
import { sessionActions } from "./session.ts";
import { signInActions } from "./sign-in.ts";
import { userTokenActions } from "./user-tokens.ts";

const FIXED: readonly Action[] = [
  ...signInActions,
  ...sessionActions,
  ...schemaActions,
  ...userTokenActions,
  ...notificationActions,
  ...notificationAudioActions,
  ...notificationActivityActions,
  ...deviceActions,
  ...endpointActivityActions,
  ...extensionActions,
];

/** All endpoints that are not generic operations on rows; what can be cloned or lies in domains, the declarations say. */
export function actionsFor(catalogue: Catalogue): readonly Action[] {
  return [...FIXED, ...cloneActions(catalogue), ...domainActions(catalogue)];
}
