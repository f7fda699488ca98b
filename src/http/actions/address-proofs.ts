import { CallerError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import userDevices from "../../resources/people/user-devices.ts";
import users from "../../resources/people/users.ts";
import { text } from "../../schema/field.ts";
import { type Action, type ApiRequest, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const code = text("The code that was sent to the address.", { required: true, max: 64 });
const validateCode = compileBodyValidator({ code });

/** Users prove the addresses that they added for themselves. @source docs/decisions/0765-proof-of-own-addresses.md */
export const addressProofActions: readonly Action[] = [
  {
    method: "post",
    at: "users/{userId}/devices/{deviceId}/verification-code",
    doc: "Sends a code to an address of one's own that awaits verification: by mail, or as a text message. Limited per account and address.",
    response: { kind: "nothing" },
    async handle(request) {
      const { user, device } = requireOwnDevice(request);
      await request.deps.addressProofs.sendCode(user, device);
      return { status: 204, body: null };
    },
  },
  {
    method: "post",
    at: "users/{userId}/devices/{deviceId}/verification",
    doc: "Verifies an address of one's own with the code that was sent to it. A code is good for ten minutes and five guesses.",
    response: { kind: "nothing" },
    accepts: { code },
    async handle(request) {
      const { device } = requireOwnDevice(request);
      const given = validateCode(request.body) as { code: string };
      await request.deps.addressProofs.verify(device, given.code);
      return { status: 204, body: null };
    },
  },
];

function requireOwnDevice(request: ApiRequest) {
  const { params, principal } = request;
  const user = requireVisibleRow(request, users, params.userId ?? "");
  if (user.id !== principal.userId)
    throw new CallerError("forbidden", sentence("auth.only-the-user-can-verify-an-own-address"));
  const device = requireVisibleRow(request, userDevices, params.deviceId ?? "");
  if (device.userId !== user.id)
    throw new CallerError("forbidden", sentence("auth.only-the-user-can-verify-an-own-address"));
  return { user, device };
}
