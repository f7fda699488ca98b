import type { Catalogue } from "../../schema/catalogue.ts";
import type { Action } from "../action.ts";
import { activationActions } from "./activations.ts";
import { addressProofActions } from "./address-proofs.ts";
import { alarmRowActions } from "./alarms.ts";
import { alertToneActions } from "./alert-tones.ts";
import { answerActions } from "./answers.ts";
import { applianceUpgradeActions } from "./appliance-upgrades.ts";
import { applianceActions } from "./appliances.ts";
import { applicationActions } from "./applications.ts";
import { areaActions } from "./areas.ts";
import { auditActions } from "./audit.ts";
import { authorizeActions } from "./authorize.ts";
import { bellCalendarActions } from "./bell-calendars.ts";
import { bellRingActions } from "./bell-rings.ts";
import { bulkUploadActions } from "./bulk-uploads.ts";
import { calendarSubscriptionActions } from "./calendar-subscriptions.ts";
import { callmgrClusterActions } from "./callmgr-clusters.ts";
import { campaignActions } from "./campaigns.ts";
import { certificateActions } from "./certificate.ts";
import { cloneActions } from "./clone.ts";
import { dependentActions } from "./dependents.ts";
import { deviceActions } from "./devices.ts";
import { domainActions } from "./domains.ts";
import { emergencyActions } from "./emergencies.ts";
import { endpointActivityActions } from "./endpoint-activities.ts";
import { eventActions } from "./events.ts";
import { extensionActions } from "./extensions.ts";
import { failoverStatusActions } from "./failover-status.ts";
import { healthActions } from "./health.ts";
import { identityProviderActions } from "./identity-providers.ts";
import { incidentReportActions } from "./incident-reports.ts";
import { incidentActions } from "./incidents.ts";
import { invitationActions } from "./invitations.ts";
import { licenceActions } from "./licence.ts";
import { linkActions } from "./link.ts";
import { linkConflictActions } from "./link-conflicts.ts";
import { listFilterActions } from "./list-filters.ts";
import { loadDefinitionActions } from "./load-definitions.ts";
import { loginActions } from "./login.ts";
import { maintenanceActions } from "./maintenance.ts";
import { notificationActivityActions } from "./notification-activities.ts";
import { notificationAudioActions } from "./notification-audio.ts";
import { notificationFollowUpActions } from "./notification-follow-ups.ts";
import { notificationLocationActions } from "./notification-locations.ts";
import { notificationProfileActions } from "./notification-profiles.ts";
import { notificationProgressActions } from "./notification-progress.ts";
import { notificationRecipientActions } from "./notification-recipients.ts";
import { notificationStartActions } from "./notification-starts.ts";
import { notificationActions } from "./notifications.ts";
import { oauthActions } from "./oauth.ts";
import { onPremisesDeviceActions } from "./on-premises-devices.ts";
import { onPremisesMessageActions } from "./on-premises-messages.ts";
import { optOutActions } from "./opt-outs.ts";
import { passwordActions } from "./passwords.ts";
import { permissionActions } from "./permissions.ts";
import { placeActions } from "./places.ts";
import { providerLoginActions } from "./provider-login.ts";
import { reportActions } from "./reports.ts";
import { retentionActions } from "./retention.ts";
import { scenarioActions } from "./scenarios.ts";
import { schemaActions } from "./schema.ts";
import { scimActions } from "./scim.ts";
import { secondFactorActions } from "./second-factors.ts";
import { securityGroupActions } from "./security-groups.ts";
import { sessionActions } from "./session.ts";
import { speechActions } from "./speech.ts";
import { startDelayActions } from "./start-delays.ts";
import { subscribableListActions } from "./subscribable-lists.ts";
import { timeZoneDataActions } from "./time-zone-data.ts";
import { triggerActions } from "./triggers.ts";
import { userFilterActions } from "./user-filters.ts";
import { userProfileActions } from "./user-profiles.ts";
import { userTokenActions } from "./user-tokens.ts";

const FIXED: readonly Action[] = [
  ...loginActions,
  ...providerLoginActions,
  ...authorizeActions,
  ...oauthActions,
  ...applicationActions,
  ...scimActions,
  ...identityProviderActions,
  ...passwordActions,
  ...secondFactorActions,
  ...addressProofActions,
  ...invitationActions,
  ...sessionActions,
  ...schemaActions,
  ...userTokenActions,
  ...permissionActions,
  ...optOutActions,
  ...notificationActions,
  ...onPremisesDeviceActions,
  ...onPremisesMessageActions,
  ...notificationAudioActions,
  ...notificationFollowUpActions,
  ...notificationProgressActions,
  ...notificationStartActions,
  ...notificationLocationActions,
  ...notificationRecipientActions,
  ...alertToneActions,
  ...notificationProfileActions,
  ...startDelayActions,
  ...timeZoneDataActions,
  ...speechActions,
  ...areaActions,
  ...listFilterActions,
  ...userFilterActions,
  ...userProfileActions,
  ...bellRingActions,
  ...bellCalendarActions,
  ...calendarSubscriptionActions,
  ...notificationActivityActions,
  ...incidentActions,
  ...incidentReportActions,
  ...reportActions,
  ...deviceActions,
  ...activationActions,
  ...callmgrClusterActions,
  ...alarmRowActions,
  ...healthActions,
  ...certificateActions,
  ...licenceActions,
  ...maintenanceActions,
  ...retentionActions,
  ...emergencyActions,
  ...endpointActivityActions,
  ...failoverStatusActions,
  ...linkActions,
  ...linkConflictActions,
  ...applianceActions,
  ...applianceUpgradeActions,
  ...extensionActions,
  ...auditActions,
  ...answerActions,
  ...campaignActions,
  ...bulkUploadActions,
  ...loadDefinitionActions,
  ...subscribableListActions,
  ...triggerActions,
  ...eventActions,
  ...placeActions,
  ...scenarioActions,
];

/** All endpoints except the generic row operations. Clone and domain endpoints follow from the declarations. */
export function actionsFor(catalogue: Catalogue): readonly Action[] {
  return [
    ...FIXED,
    ...cloneActions(catalogue),
    ...domainActions(catalogue),
    ...dependentActions(catalogue),
    ...securityGroupActions(catalogue),
  ];
}
