import userDevices from "../resources/people/user-devices.ts";
import type users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Transaction } from "../store/store.ts";

/**
 * Removes the addresses of a self-registered account without a proof, before the account becomes that of a known person:
 * by a log-in through an identity provider, a directory, or an administrator's password. The stranger who registered the
 * account would receive that person's messages. The account's e-mail address stays.
 * @source docs/decisions/0477-proof-of-contacts.md
 */
export function removeUnprovenContacts(
  tx: Transaction,
  user: Pick<RowOf<typeof users>, "id" | "email" | "selfRegistered" | "providerKey">,
  by: ActorContext,
): void {
  // Of an account that a provider made, its user added the devices after a log-in.
  if (!user.selfRegistered || user.providerKey !== null) return;
  for (const { id, type, deviceIdentifier, verified } of tx.find(userDevices, { userId: user.id })) {
    const isOwnAddress =
      type.toLowerCase() === "email" && deviceIdentifier?.toLowerCase() === user.email?.toLowerCase();
    if (!verified && !isOwnAddress) tx.remove(userDevices, id, by);
  }
}
