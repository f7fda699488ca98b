import { alarmActionHooks } from "../alarms/alarm-action-hooks.ts";
import { alarmEventHooks, systemHealthEventHooks } from "../alarms/alarm-event-hooks.ts";
import { alarmHooks } from "../alarms/alarm-hooks.ts";
import { areaHooks } from "../areas/area-hooks.ts";
import { boundaryTriggerHooks } from "../areas/boundary-trigger-hooks.ts";
import { withPresenceHooks } from "../areas/presence-hooks.ts";
import { brandingHooks } from "../auth/branding.ts";
import { bellHooks } from "../bells/hooks.ts";
import type { Planner } from "../bells/planner.ts";
import { withReplanning } from "../bells/replan-hooks.ts";
import type { LocalTimeContext } from "../bells/timetables.ts";
import { clusterHooks } from "../call-manager/cluster-hooks.ts";
import { serverHooks } from "../call-manager/onprem-server-hooks.ts";
import { activationGroupHooks } from "../devices/activation-group-hooks.ts";
import { deviceGroupHooks } from "../devices/device-group-hooks.ts";
import { deviceHooks } from "../devices/device-hooks.ts";
import { failoverPairHooks } from "../devices/failover-pair-hooks.ts";
import { userDeviceHooks } from "../devices/user-device-hooks.ts";
import { bulkUploadHooks, bulkUploadLogHooks } from "../importers/bulk-upload-hooks.ts";
import { loadDefinitionHooks } from "../importers/load-definition-hooks.ts";
import { incidentActivityHooks, incidentHooks } from "../incidents/incident-hooks.ts";
import { incidentPlanHooks, incidentResourceHooks } from "../incidents/incident-resources.ts";
import { withIncidentStart } from "../incidents/incident-start.ts";
import {
  callRedirectHooks,
  dialingConfigurationHooks,
  m2mInputHooks,
  routingRequestHooks,
} from "../inputs/rule-hooks.ts";
import type { Clock } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import { messageTemplateHooks } from "../notifications/compose/message-template-hooks.ts";
import { notificationProfileHooks } from "../notifications/compose/notification-profile-hooks.ts";
import { notificationHooks } from "../notifications/engine/notification-hooks.ts";
import { activityHooks, deliveryHooks, recipientHooks } from "../notifications/recipients/recipient-hooks.ts";
import {
  confirmationRequestHooks,
  dynamicReplyHooks,
  escalationRuleHooks,
} from "../notifications/responses/confirmation-hooks.ts";
import { endpointActivityHooks } from "../ops/health/endpoint-activity-hooks.ts";
import { type EndpointHookDeps, endpointHooks } from "../ops/health/endpoint-hooks.ts";
import { distributionListHooks, subscriptionHooks } from "../people/distribution-list-hooks.ts";
import { optOutHooks } from "../people/opt-outs.ts";
import { withOwnAddressHooks } from "../people/own-address-hooks.ts";
import type { PhoneNumberPolicy } from "../people/phone-number-policy.ts";
import { accessHooks, type BoundHooks } from "../permissions/hooks.ts";
import { presentScimGroupLinks, scimGroupHooks } from "../permissions/scim-group-hooks.ts";
import { apiDeviceHooks } from "../places/api-device-hooks.ts";
import { buildingHooks, floorHooks, siteHooks, zoneHooks } from "../places/place-hooks.ts";
import { siteRoleHooks } from "../places/site-role-hooks.ts";
import { collaborationGroupHooks } from "../plugin-host/collaboration-group-hooks.ts";
import type { PluginHost } from "../plugin-host/plugin-host.ts";
import alarmActions from "../resources/alarms/alarm-actions.ts";
import alarmEvents from "../resources/alarms/alarm-events.ts";
import alarms from "../resources/alarms/alarms.ts";
import systemHealthEvents from "../resources/alarms/system-health-events.ts";
import areasOfInterest from "../resources/areas/areas-of-interest.ts";
import boundaryTriggers from "../resources/areas/boundary-triggers.ts";
import brandings from "../resources/branding/brandings.ts";
import callmgrClusters from "../resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../resources/callmgr/callmgr-onprem-servers.ts";
import collaborationGroups from "../resources/collaboration/collaboration-groups.ts";
import confirmationRequests from "../resources/confirmations/confirmation-requests.ts";
import dynamicReplies from "../resources/confirmations/dynamic-replies.ts";
import escalationRules from "../resources/confirmations/escalation-rules.ts";
import activationGroups from "../resources/devices/activation-groups.ts";
import applianceUpgrades from "../resources/devices/appliance-upgrades.ts";
import deviceGroups from "../resources/devices/device-groups.ts";
import devices from "../resources/devices/devices.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import extensions from "../resources/devices/extensions.ts";
import failoverPairs from "../resources/devices/failover-pairs.ts";
import incidentActivities from "../resources/incidents/incident-activities.ts";
import incidentPlanResources from "../resources/incidents/incident-plan-resources.ts";
import incidentPlans from "../resources/incidents/incident-plans.ts";
import incidentResources from "../resources/incidents/incident-resources.ts";
import incidents from "../resources/incidents/incidents.ts";
import callAwareCallRedirects from "../resources/inputs/call-aware-call-redirects.ts";
import callAwareRoutingRequests from "../resources/inputs/call-aware-routing-requests.ts";
import dialcastDialingConfigurations from "../resources/inputs/dialcast-dialing-configurations.ts";
import m2mInputs from "../resources/inputs/m2m-inputs.ts";
import distributionListScimGroups from "../resources/lists/distribution-list-scim-groups.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import loadDefinitions from "../resources/loads/load-definitions.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import optOuts from "../resources/messages/opt-outs.ts";
import deliveries from "../resources/notifications/deliveries.ts";
import notificationActivities from "../resources/notifications/notification-activities.ts";
import notificationRecipients from "../resources/notifications/notification-recipients.ts";
import notifications from "../resources/notifications/notifications.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import userDevices from "../resources/people/user-devices.ts";
import apiDevices from "../resources/places/api-devices.ts";
import buildings from "../resources/places/buildings.ts";
import floors from "../resources/places/floors.ts";
import siteRoles from "../resources/places/site-roles.ts";
import sites from "../resources/places/sites.ts";
import zones from "../resources/places/zones.ts";
import notificationProfiles from "../resources/profiles/notification-profiles.ts";
import ruleActions from "../resources/scenarios/rule-actions.ts";
import scenarioNotifications from "../resources/scenarios/scenario-notifications.ts";
import scenarios from "../resources/scenarios/scenarios.ts";
import identityProviders from "../resources/security/identity-providers.ts";
import scimGroups from "../resources/security/scim-groups.ts";
import bulkUploadLogs from "../resources/uploads/bulk-upload-logs.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import triggers from "../resources/webhooks/triggers.ts";
import { applianceUpgradeHooks } from "../rollout/upgrade-hooks.ts";
import { scenarioHooks } from "../scenarios/scenario-hooks.ts";
import { scenarioNotificationHooks } from "../scenarios/scenario-notification-hooks.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { providerHooks } from "../sso/provider-hooks.ts";
import type { ActorContext, FileStore, ResourceHooks } from "../store/store.ts";
import { readSyncIds } from "../sync/storage/sqlite-program-runner.ts";
import { ruleActionHooks } from "../webhooks/rule-action-hooks.ts";
import { triggerHooks } from "../webhooks/trigger-hooks.ts";
import type { DeviceGroupRegistry } from "./device-group-registry.ts";

export interface HookDeps {
  clock: Clock;
  catalogue: Catalogue;
  files: FileStore;
  policy: SsrfGuard;
  endpoint: Omit<EndpointHookDeps, "sharedIds">;
  /** How local bell times map to instants here. */
  bells: LocalTimeContext;
  /** Bell plans are recomputed after writes. */
  planner: Planner;
  registry: Pick<DeviceGroupRegistry, "groupCounts" | "activationCounts">;
  /** Whether an appliance can activate devices at present. */
  isReachable(endpointId: string): boolean;
  plugins: Pick<PluginHost, "manifests" | "findProvider" | "profileSchema" | "extensionHooks">;
  /** Telephone numbers that users may add for themselves. */
  phoneNumberPolicy: PhoneNumberPolicy;
  /** Scenarios with a location add a question about the site. */
  reportsSite: boolean;
  /** Public base URL of the appliance. */
  baseUrl(): string;
  /** Actor of the appliance's own writes. */
  systemBy(): ActorContext;
}

/** Binds each resource to its hooks: the one table of behaviour beyond storing rows. */
export function bindHooks(deps: HookDeps): Record<string, ResourceHooks> {
  const { clock, endpoint, registry, plugins, baseUrl, isReachable } = deps;
  const files = (): FileStore => deps.files;
  const claims = () => plugins.manifests.flatMap((manifest) => manifest.claims);
  return hooksByResource([
    ...accessHooks(clock, deps.catalogue),
    ...withReplanning(bellHooks({ clock, times: deps.bells, policy: deps.policy }), deps.planner),
    bind(
      userDevices,
      withOwnAddressHooks(withPresenceHooks(userDeviceHooks, clock, deps.systemBy), deps.phoneNumberPolicy),
    ),
    bind(areasOfInterest, areaHooks),
    bind(boundaryTriggers, boundaryTriggerHooks),
    bind(devices, deviceHooks(plugins.findProvider, claims)),
    bind(deviceGroups, deviceGroupHooks(registry.groupCounts)),
    bind(activationGroups, activationGroupHooks({ counts: registry.activationCounts, isReachable })),
    bind(failoverPairs, failoverPairHooks),
    bind(callmgrClusters, clusterHooks(deps.policy)),
    bind(callmgrOnpremServers, serverHooks(deps.policy)),
    bind(alarms, alarmHooks),
    bind(alarmActions, alarmActionHooks(deps.systemBy)),
    bind(alarmEvents, alarmEventHooks),
    bind(systemHealthEvents, systemHealthEventHooks),
    bind(extensions, plugins.extensionHooks),
    ...withReplanning([bind(endpoints, endpointHooks({ ...endpoint, sharedIds: readSyncIds }))], deps.planner),
    bind(endpointActivities, endpointActivityHooks),
    bind(applianceUpgrades, applianceUpgradeHooks),
    bind(distributionLists, distributionListHooks(baseUrl)),
    bind(identityProviders, providerHooks(deps)),
    bind(scimGroups, scimGroupHooks),
    bind(distributionListScimGroups, { present: presentScimGroupLinks }),
    bind(subscriptions, subscriptionHooks(clock)),
    bind(loadDefinitions, loadDefinitionHooks),
    bind(bulkUploadLogs, bulkUploadLogHooks),
    bind(bulkUploads, bulkUploadHooks({ catalogue: deps.catalogue, endpointId: endpoint.ownId, baseUrl })),
    bind(triggers, triggerHooks(deps)),
    bind(ruleActions, ruleActionHooks(deps.policy)),
    bind(sites, siteHooks),
    bind(buildings, buildingHooks),
    bind(floors, floorHooks),
    bind(zones, zoneHooks),
    bind(siteRoles, siteRoleHooks),
    bind(apiDevices, apiDeviceHooks),
    bind(scenarios, scenarioHooks(deps.reportsSite)),
    bind(scenarioNotifications, scenarioNotificationHooks),
    bind(messageTemplates, messageTemplateHooks(files)),
    bind(optOuts, optOutHooks),
    bind(notifications, withIncidentStart(notificationHooks)),
    bind(brandings, brandingHooks),
    bind(notificationProfiles, notificationProfileHooks(plugins.profileSchema)),
    bind(notificationRecipients, recipientHooks),
    bind(deliveries, deliveryHooks),
    bind(notificationActivities, activityHooks),
    bind(confirmationRequests, confirmationRequestHooks),
    bind(dynamicReplies, dynamicReplyHooks),
    bind(escalationRules, escalationRuleHooks(files)),
    bind(callAwareCallRedirects, callRedirectHooks),
    bind(callAwareRoutingRequests, routingRequestHooks),
    bind(m2mInputs, m2mInputHooks),
    bind(dialcastDialingConfigurations, dialingConfigurationHooks),
    bind(collaborationGroups, collaborationGroupHooks),
    bind(incidentPlans, incidentPlanHooks),
    bind(incidentPlanResources, incidentResourceHooks(incidentPlanResources)),
    bind(incidents, incidentHooks),
    bind(incidentResources, incidentResourceHooks(incidentResources)),
    bind(incidentActivities, incidentActivityHooks(clock)),
  ]);
}

/** Erases the row type, which the table can't express. */
function bind<R extends AnyResource>(resource: R, hooks: ResourceHooks<R>): BoundHooks {
  return [resource, hooks as unknown as ResourceHooks];
}

function hooksByResource(bound: readonly BoundHooks[]): Record<string, ResourceHooks> {
  const byName: Record<string, ResourceHooks> = {};
  for (const [{ name, fields }, hooks] of bound) {
    if (name in byName) throw new BugError("Hooks are already bound to this resource.", { resource: name });
    byName[name] = fields.syncId?.kind === "computed" ? withSyncIds(name, hooks) : hooks;
  }
  return byName;
}

/** Adds the sync id: rows with equal sync ids are equal on both sides of a link. */
function withSyncIds(name: string, hooks: ResourceHooks): ResourceHooks {
  return {
    ...hooks,
    present(rows, context) {
      const syncIds = readSyncIds(
        context.reader,
        name,
        rows.map(({ id }) => id),
      );
      const presented = hooks.present?.(rows, context) ?? [];
      return rows.map(({ id }, index) => ({ ...presented[index], syncId: syncIds.get(id) ?? null }));
    },
  };
}
