import { accessBehaviours, type Bound } from "../access/behaviours.ts";
import { brandingBehaviour } from "../access/branding.ts";
import { presentScimTies, scimGroupBehaviour } from "../access/scim-groups.ts";
import { alarmActionBehaviour } from "../alarms/action-behaviour.ts";
import { alarmBehaviour } from "../alarms/alarm-behaviour.ts";
import { alarmEventBehaviour, systemHealthEventBehaviour } from "../alarms/event-behaviour.ts";
import { areaBehaviour } from "../areas/area-behaviour.ts";
import { withPresence } from "../areas/presence-behaviour.ts";
import { boundaryTriggerBehaviour } from "../areas/trigger-behaviour.ts";
import type { AddressPolicy } from "../base/address-policy.ts";
import type { Clock } from "../base/clock.ts";
import { BugError } from "../base/errors.ts";
import { bellBehaviours } from "../bells/behaviours.ts";
import { withPlans } from "../bells/planned-writes.ts";
import type { Planner } from "../bells/planner.ts";
import type { BellTimes } from "../bells/timetables.ts";
import {
  confirmationRequestBehaviour,
  dynamicReplyBehaviour,
  escalationRuleBehaviour,
} from "../broadcast/confirmation-behaviour.ts";
import { distributionListBehaviour, subscriptionBehaviour } from "../broadcast/list-behaviour.ts";
import { notificationBehaviour } from "../broadcast/notification-behaviour.ts";
import { optOutBehaviour } from "../broadcast/opt-outs.ts";
import { notificationProfileBehaviour } from "../broadcast/profile-behaviour.ts";
import { activityBehaviour, deliveryBehaviour, recipientBehaviour } from "../broadcast/recipient-behaviour.ts";
import { templateBehaviour } from "../broadcast/template-behaviour.ts";
import { clusterBehaviour } from "../call-manager/cluster-behaviour.ts";
import { serverBehaviour } from "../call-manager/server-behaviour.ts";
import { activationGroupBehaviour } from "../devices/activation-group-behaviour.ts";
import { deviceBehaviour } from "../devices/device-behaviour.ts";
import { failoverPairBehaviour } from "../devices/failover-pair-behaviour.ts";
import { deviceGroupBehaviour } from "../devices/group-behaviour.ts";
import { userDeviceBehaviour } from "../devices/user-device-behaviour.ts";
import { collaborationGroupBehaviour } from "../extensions/collaboration-behaviour.ts";
import type { PluginHost } from "../extensions/plugin-host.ts";
import { endpointActivityBehaviour } from "../health/endpoint-activity-behaviour.ts";
import { type EndpointNeeds, endpointBehaviour } from "../health/endpoint-behaviour.ts";
import { providerBehaviour } from "../identity/provider-behaviour.ts";
import {
  callRedirectBehaviour,
  dialingConfigurationBehaviour,
  m2mInputBehaviour,
  routingRequestBehaviour,
} from "../inputs/rule-behaviours.ts";
import { bulkUploadBehaviour, bulkUploadLogBehaviour } from "../loaders/bulk-behaviour.ts";
import { loadDefinitionBehaviour } from "../loaders/load-behaviour.ts";
import { ruleActionBehaviour } from "../outbound/rule-action-behaviour.ts";
import { triggerBehaviour } from "../outbound/trigger-behaviour.ts";
import { apiDeviceBehaviour } from "../places/api-device-behaviour.ts";
import { buildingBehaviour, floorBehaviour, siteBehaviour, zoneBehaviour } from "../places/place-behaviours.ts";
import { siteRoleBehaviour } from "../places/role-behaviour.ts";
import { syncIdsOf } from "../replication/sqlite-work.ts";
import { applianceUpgradeBehaviour } from "../replication/upgrades/upgrade-behaviour.ts";
import alarmActions from "../resources/alarms/alarm-actions.ts";
import alarmEvents from "../resources/alarms/alarm-events.ts";
import alarms from "../resources/alarms/alarms.ts";
import systemHealthEvents from "../resources/alarms/system-health-events.ts";
import areasOfInterest from "../resources/areas/areas-of-interest.ts";
import boundaryTriggers from "../resources/areas/boundary-triggers.ts";
import brandings from "../resources/branding/brandings.ts";
import deliveries from "../resources/broadcasts/deliveries.ts";
import notificationActivities from "../resources/broadcasts/notification-activities.ts";
import notificationRecipients from "../resources/broadcasts/notification-recipients.ts";
import notifications from "../resources/broadcasts/notifications.ts";
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
import triggers from "../resources/outbound/triggers.ts";
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
import { incidentActivityBehaviour, incidentBehaviour } from "../scenarios/incident-behaviour.ts";
import { incidentPlanBehaviour, resourceBehaviourOf } from "../scenarios/incident-resources.ts";
import { startingIncidents } from "../scenarios/incident-start.ts";
import { scenarioBehaviour } from "../scenarios/scenario-behaviour.ts";
import { scenarioNotificationBehaviour } from "../scenarios/sent-events.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Behaviour, By, FileStore } from "../store/store.ts";
import type { Registry } from "./registry.ts";

/** What behaviours are made of. */
export interface BehaviourNeeds {
  clock: Clock;
  catalogue: Catalogue;
  files: FileStore;
  policy: AddressPolicy;
  endpoint: EndpointNeeds;
  /** What the local times of bells mean here. */
  bells: BellTimes;
  /** Plans of bells follow what is written. */
  planner: Planner;
  registry: Pick<Registry, "groupCounts" | "activationCounts">;
  /** Whether an appliance could activate devices now. */
  isReachable(endpointId: string): boolean;
  plugins: Pick<PluginHost, "manifests" | "findProvider" | "profileSchema" | "extensionBehaviour">;
  /** Scenarios with a location report a question about the site. */
  reportsSite: boolean;
  /** Where the appliance is reached. */
  baseUrl(): string;
  /** On whose behalf the appliance itself writes. */
  systemBy(): By;
}

/** The one table that binds a resource to what it does beyond being stored. */
export function bindBehaviours(needs: BehaviourNeeds): Record<string, Behaviour> {
  const { clock, endpoint, registry, plugins, baseUrl, isReachable } = needs;
  const files = (): FileStore => needs.files;
  const claims = () => plugins.manifests.flatMap((manifest) => manifest.claims);
  return table([
    ...accessBehaviours(clock, needs.catalogue),
    ...withPlans(bellBehaviours({ clock, times: needs.bells }), needs.planner),
    bind(userDevices, withPresence(userDeviceBehaviour, clock, needs.systemBy)),
    bind(areasOfInterest, areaBehaviour),
    bind(boundaryTriggers, boundaryTriggerBehaviour),
    bind(devices, deviceBehaviour(plugins.findProvider, claims)),
    bind(deviceGroups, deviceGroupBehaviour(registry.groupCounts)),
    bind(activationGroups, activationGroupBehaviour({ counts: registry.activationCounts, isReachable })),
    bind(failoverPairs, failoverPairBehaviour),
    bind(callmgrClusters, clusterBehaviour(needs.policy)),
    bind(callmgrOnpremServers, serverBehaviour(needs.policy)),
    bind(alarms, alarmBehaviour),
    bind(alarmActions, alarmActionBehaviour(needs.systemBy)),
    bind(alarmEvents, alarmEventBehaviour),
    bind(systemHealthEvents, systemHealthEventBehaviour),
    bind(extensions, plugins.extensionBehaviour),
    ...withPlans([bind(endpoints, endpointBehaviour(endpoint))], needs.planner),
    bind(endpointActivities, endpointActivityBehaviour),
    bind(applianceUpgrades, applianceUpgradeBehaviour),
    bind(distributionLists, distributionListBehaviour(baseUrl)),
    bind(identityProviders, providerBehaviour(needs)),
    bind(scimGroups, scimGroupBehaviour),
    bind(distributionListScimGroups, { present: presentScimTies }),
    bind(subscriptions, subscriptionBehaviour(clock)),
    bind(loadDefinitions, loadDefinitionBehaviour),
    bind(bulkUploadLogs, bulkUploadLogBehaviour),
    bind(bulkUploads, bulkUploadBehaviour({ catalogue: needs.catalogue, endpointId: endpoint.ownId, baseUrl })),
    bind(triggers, triggerBehaviour(needs)),
    bind(ruleActions, ruleActionBehaviour(needs.policy)),
    bind(sites, siteBehaviour),
    bind(buildings, buildingBehaviour),
    bind(floors, floorBehaviour),
    bind(zones, zoneBehaviour),
    bind(siteRoles, siteRoleBehaviour),
    bind(apiDevices, apiDeviceBehaviour),
    bind(scenarios, scenarioBehaviour(needs.reportsSite)),
    bind(scenarioNotifications, scenarioNotificationBehaviour),
    bind(messageTemplates, templateBehaviour(files)),
    bind(optOuts, optOutBehaviour),
    bind(notifications, startingIncidents(notificationBehaviour)),
    bind(brandings, brandingBehaviour),
    bind(notificationProfiles, notificationProfileBehaviour(plugins.profileSchema)),
    bind(notificationRecipients, recipientBehaviour),
    bind(deliveries, deliveryBehaviour),
    bind(notificationActivities, activityBehaviour),
    bind(confirmationRequests, confirmationRequestBehaviour),
    bind(dynamicReplies, dynamicReplyBehaviour),
    bind(escalationRules, escalationRuleBehaviour(files)),
    bind(callAwareCallRedirects, callRedirectBehaviour),
    bind(callAwareRoutingRequests, routingRequestBehaviour),
    bind(m2mInputs, m2mInputBehaviour),
    bind(dialcastDialingConfigurations, dialingConfigurationBehaviour),
    bind(collaborationGroups, collaborationGroupBehaviour),
    bind(incidentPlans, incidentPlanBehaviour),
    bind(incidentPlanResources, resourceBehaviourOf(incidentPlanResources)),
    bind(incidents, incidentBehaviour),
    bind(incidentResources, resourceBehaviourOf(incidentResources)),
    bind(incidentActivities, incidentActivityBehaviour(clock)),
  ]);
}

/** Forgets the row type, which the table can't keep. */
function bind<R extends AnyResource>(resource: R, behaviour: Behaviour<R>): Bound {
  return [resource, behaviour as unknown as Behaviour];
}

function table(bound: readonly Bound[]): Record<string, Behaviour> {
  const behaviours: Record<string, Behaviour> = {};
  for (const [{ name, fields }, behaviour] of bound) {
    if (name in behaviours) throw new BugError("Two behaviours are bound to one resource.", { resource: name });
    behaviours[name] = fields.syncId?.kind === "computed" ? withSyncIds(name, behaviour) : behaviour;
  }
  return behaviours;
}

/** Rows show by which version of them both sides of a link are equal. */
function withSyncIds(name: string, behaviour: Behaviour): Behaviour {
  return {
    ...behaviour,
    present(rows, context) {
      const syncIds = syncIdsOf(
        context.reader,
        name,
        rows.map(({ id }) => id),
      );
      const shown = behaviour.present?.(rows, context) ?? [];
      return rows.map(({ id }, at) => ({ ...shown[at], syncId: syncIds.get(id) ?? null }));
    },
  };
}
