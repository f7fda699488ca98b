import { invalidValue, LimitError } from "../base/errors.ts";
import extensions from "../resources/devices/extensions.ts";
import userDevices, { USER_DEVICE_TYPES } from "../resources/people/user-devices.ts";
import type { Behaviour, Change, Reader } from "../store/store.ts";

/**
 * A user's device is of a documented type or of one that an extension serves; an extension's deviceLimit bounds how many
 * of its type one user has, within the five that everybody may have. @source service-api.md, User device; decisions.md 5
 */
export const userDeviceBehaviour: Behaviour<typeof userDevices> = { beforeWrite: checkType };

function checkType({ before, after }: Change<typeof userDevices>, tx: Reader): void {
  if (!after || before?.type === after.type) return;
  const serving = tx.find(extensions, { type: "device", deviceType: after.type }, 1)[0];
  if (!serving && !(USER_DEVICE_TYPES as readonly string[]).includes(after.type)) {
    throw invalidValue("type", "No extension serves it.");
  }
  const limit = serving?.deviceLimit ?? null;
  if (limit === null) return;
  const others = tx.count(userDevices, { userId: after.userId, type: after.type });
  if (others >= limit) throw new LimitError(limit, `devices of type ${after.type}`);
}
