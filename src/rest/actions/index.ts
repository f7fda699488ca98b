import type { Catalogue } from "../../schema/catalogue.ts";
import type { Action } from "../action.ts";
import { alertToneActions } from "./alert-tones.ts";
import { applicationActions } from "./applications.ts";
import { auditActions } from "./audit.ts";
import { authorizeActions } from "./authorize.ts";
import { campaignActions } from "./campaigns.ts";
import { cloneActions } from "./clone.ts";
import { deviceActions } from "./devices.ts";
import { domainActions } from "./domains.ts";
import { endpointActivityActions } from "./endpoint-activities.ts";
import { eventActions } from "./events.ts";
import { extensionActions } from "./extensions.ts";
import { identityProviderActions } from "./identity-providers.ts";
import { notificationActivityActions } from "./notification-activities.ts";
import { notificationAudioActions } from "./notification-audio.ts";
import { notificationContinuationActions } from "./notification-continuations.ts";
import { notificationProgressActions } from "./notification-progress.ts";
import { notificationActions } from "./notifications.ts";
import { oauthActions } from "./oauth.ts";
import { passwordActions } from "./passwords.ts";
import { permissionActions } from "./permissions.ts";
import { schemaActions } from "./schema.ts";
import { securityGroupActions } from "./security-groups.ts";
import { sessionActions } from "./session.ts";
import { signInActions } from "./sign-in.ts";
import { subscribableListActions } from "./subscribable-lists.ts";
import { triggerActions } from "./triggers.ts";
import { userTokenActions } from "./user-tokens.ts";

const FIXED: readonly Action[] = [
  ...signInActions,
  ...authorizeActions,
  ...oauthActions,
  ...applicationActions,
  ...identityProviderActions,
  ...passwordActions,
  ...sessionActions,
  ...schemaActions,
  ...userTokenActions,
  ...permissionActions,
  ...notificationActions,
  ...notificationAudioActions,
  ...notificationContinuationActions,
  ...notificationProgressActions,
  ...alertToneActions,
  ...notificationActivityActions,
  ...deviceActions,
  ...endpointActivityActions,
  ...extensionActions,
  ...auditActions,
  ...campaignActions,
  ...subscribableListActions,
  ...triggerActions,
  ...eventActions,
];

/** All endpoints that are not generic operations on rows; what can be cloned or lies in domains, the declarations say. */
export function actionsFor(catalogue: Catalogue): readonly Action[] {
  return [...FIXED, ...cloneActions(catalogue), ...domainActions(catalogue), ...securityGroupActions(catalogue)];
}
