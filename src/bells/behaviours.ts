import bellSchedules from "../resources/bells/bell-schedules.ts";
import bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Behaviour } from "../store/store.ts";
import { bellScheduleBehaviour } from "./bell-schedule-behaviour.ts";
import { bulkExceptionBehaviour } from "./bulk-exceptions.ts";
import { dayChangeBehaviour } from "./day-change-behaviour.ts";
import { ringListBehaviour } from "./ring-list-behaviour.ts";

/** A behaviour and the resource it is bound to. */
type Bound = readonly [resource: AnyResource, behaviour: Behaviour];

/** What the resources of the bells do beyond being stored. */
export function bellBehaviours(): readonly Bound[] {
  return [
    bind(ringLists, ringListBehaviour),
    bind(bellSchedules, bellScheduleBehaviour),
    bind(bulkExceptions, bulkExceptionBehaviour),
    bind(dayChanges, dayChangeBehaviour),
  ];
}

/** Forgets the row type, which the table can't keep. */
function bind<R extends AnyResource>(resource: R, behaviour: Behaviour<R>): Bound {
  return [resource, behaviour as unknown as Behaviour];
}
