import { invalidValue } from "../lib/errors.ts";
import type userDevices from "../resources/people/user-devices.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks, RowMutation, Transaction } from "../store/store.ts";
import { type PhoneNumberPolicy, phoneNumberProblem } from "./phone-number-policy.ts";

type DeviceRow = RowOf<typeof userDevices>;
type UserDeviceHooks = ResourceHooks<typeof userDevices>;

/** Device types that are addresses of persons, by the channel that sends the code which proves them. */
const CONTACT_CHANNELS: ReadonlyMap<string, "mail" | "text"> = new Map([
  ["email", "mail"],
  ["sms", "text"],
  ["phone-call", "text"],
]);

/** The channel that proves a device's address; null for devices that are none of a person, such as apps. */
export function contactChannelOf({ type }: Pick<DeviceRow, "type">): "mail" | "text" | null {
  return CONTACT_CHANNELS.get(type.toLowerCase()) ?? null;
}

/**
 * Adds to the user device hooks that addresses which users enter for themselves await a proof. Those of who may change the
 * user, and of the appliance itself, count at once, and an address that they call verified waits no longer.
 * @source docs/decisions/0765-proof-of-own-addresses.md
 */
export function withOwnAddressHooks(rest: UserDeviceHooks, policy: PhoneNumberPolicy): UserDeviceHooks {
  return {
    ...rest,
    beforeWrite(change, tx, by) {
      rest.beforeWrite?.(change, tx, by);
      if (!by.replicated) awaitProof(change, tx, by, policy);
    },
  };
}

function awaitProof(
  { before, after }: RowMutation<typeof userDevices>,
  tx: Transaction,
  by: ActorContext,
  policy: PhoneNumberPolicy,
): void {
  if (!after) return;
  const channel = contactChannelOf(after);
  const isOther = before === null || before.type !== after.type || before.deviceIdentifier !== after.deviceIdentifier;
  if (channel === null || after.deviceIdentifier === null) {
    after.awaitsVerification = false;
    return;
  }
  if (!isEnteredByOwner(after, by)) {
    if (isOther || after.verified) after.awaitsVerification = false;
    return;
  }
  if (!isOther) {
    after.verified = before?.verified ?? false;
    return;
  }
  const problem = channel === "text" ? phoneNumberProblem(after.deviceIdentifier, policy) : null;
  if (problem !== null) throw invalidValue("deviceIdentifier", problem);
  const email = tx.get(users, after.userId)?.email ?? null;
  const isKnown = channel === "mail" && email?.toLowerCase() === after.deviceIdentifier.trim().toLowerCase();
  after.verified = false;
  after.awaitsVerification = !isKnown;
}

/** Who may change the user enters addresses as an administrator, also the own ones. */
function isEnteredByOwner({ userId }: DeviceRow, { actor, scope }: ActorContext): boolean {
  return actor.kind === "user" && actor.userId === userId && !scope.allows("put", `/users/${userId}`);
}
