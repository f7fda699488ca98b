import { accessBehaviours, type Bound } from "../access/behaviours.ts";
import { presentScimTies, scimGroupBehaviour } from "../access/scim-groups.ts";
import type { AddressPolicy } from "../base/address-policy.ts";
import type { Clock } from "../base/clock.ts";
import { BugError } from "../base/errors.ts";
import {
  confirmationRequestBehaviour,
  dynamicReplyBehaviour,
  escalationRuleBehaviour,
} from "../broadcast/confirmation-behaviour.ts";
import { distributionListBehaviour, subscriptionBehaviour } from "../broadcast/list-behaviour.ts";
import { notificationBehaviour } from "../broadcast/notification-behaviour.ts";
import { activityBehaviour, deliveryBehaviour, recipientBehaviour } from "../broadcast/recipient-behaviour.ts";
import { templateBehaviour } from "../broadcast/template-behaviour.ts";
import { deviceBehaviour } from "../devices/device-behaviour.ts";
import { deviceGroupBehaviour } from "../devices/group-behaviour.ts";
import type { GroupCounts } from "../devices/group-counts.ts";
import { userDeviceBehaviour } from "../devices/user-device-behaviour.ts";
import type { PluginHost } from "../extensions/plugin-host.ts";
import { endpointActivityBehaviour } from "../health/endpoint-activity-behaviour.ts";
import { type EndpointNeeds, endpointBehaviour } from "../health/endpoint-behaviour.ts";
import { triggerBehaviour } from "../outbound/trigger-behaviour.ts";
import deliveries from "../resources/broadcasts/deliveries.ts";
import notificationActivities from "../resources/broadcasts/notification-activities.ts";
import notificationRecipients from "../resources/broadcasts/notification-recipients.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import confirmationRequests from "../resources/confirmations/confirmation-requests.ts";
import dynamicReplies from "../resources/confirmations/dynamic-replies.ts";
import escalationRules from "../resources/confirmations/escalation-rules.ts";
import deviceGroups from "../resources/devices/device-groups.ts";
import devices from "../resources/devices/devices.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import extensions from "../resources/devices/extensions.ts";
import distributionListScimGroups from "../resources/lists/distribution-list-scim-groups.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import triggers from "../resources/outbound/triggers.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import userDevices from "../resources/people/user-devices.ts";
import scimGroups from "../resources/security/scim-groups.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Behaviour, FileStore } from "../store/store.ts";

/** What behaviours are made of. */
export interface BehaviourNeeds {
  clock: Clock;
  catalogue: Catalogue;
  files: FileStore;
  policy: AddressPolicy;
  endpoint: EndpointNeeds;
  groupCounts: GroupCounts;
  plugins: Pick<PluginHost, "manifests" | "findProvider" | "extensionBehaviour">;
  /** Where the appliance is reached. */
  baseUrl(): string;
}

/** The one table that binds a resource to what it does beyond being stored. */
export function bindBehaviours(needs: BehaviourNeeds): Record<string, Behaviour> {
  const { clock, endpoint, groupCounts, plugins, baseUrl } = needs;
  const files = (): FileStore => needs.files;
  const claims = plugins.manifests.flatMap((manifest) => manifest.claims);
  return table([
    ...accessBehaviours(clock, needs.catalogue),
    bind(userDevices, userDeviceBehaviour),
    bind(devices, deviceBehaviour(plugins.findProvider, claims)),
    bind(deviceGroups, deviceGroupBehaviour(groupCounts)),
    bind(extensions, plugins.extensionBehaviour),
    bind(endpoints, endpointBehaviour(endpoint)),
    bind(endpointActivities, endpointActivityBehaviour),
    bind(distributionLists, distributionListBehaviour(baseUrl)),
    bind(scimGroups, scimGroupBehaviour),
    bind(distributionListScimGroups, { present: presentScimTies }),
    bind(subscriptions, subscriptionBehaviour(clock)),
    bind(triggers, triggerBehaviour(needs)),
    bind(messageTemplates, templateBehaviour(files)),
    bind(notifications, notificationBehaviour),
    bind(notificationRecipients, recipientBehaviour),
    bind(deliveries, deliveryBehaviour),
    bind(notificationActivities, activityBehaviour),
    bind(confirmationRequests, confirmationRequestBehaviour),
    bind(dynamicReplies, dynamicReplyBehaviour),
    bind(escalationRules, escalationRuleBehaviour(files)),
  ]);
}

/** Forgets the row type, which the table can't keep. */
function bind<R extends AnyResource>(resource: R, behaviour: Behaviour<R>): Bound {
  return [resource, behaviour as unknown as Behaviour];
}

function table(bound: readonly Bound[]): Record<string, Behaviour> {
  const behaviours: Record<string, Behaviour> = {};
  for (const [{ name }, behaviour] of bound) {
    if (name in behaviours) throw new BugError("Two behaviours are bound to one resource.", { resource: name });
    behaviours[name] = behaviour;
  }
  return behaviours;
}
