import { sessionCookie } from "../../access/session-cookie.ts";
import { text } from "../../schema/field.ts";
import type { Action, Answer } from "../action.ts";
import { json } from "../action.ts";
import { callerByCookie, refuseForeignOrigin } from "../caller-by-cookie.ts";
import { bodyCheck } from "./checked-body.ts";

const email = text("Address of the account.", { required: true, max: 254 });
const password = text("The account's password.", { required: true, max: 1_024 });
const code = text("The one-time code.", { required: true, max: 64 });
const name = text("What others call the administrator.", { max: 140 });

const checkLogin = bodyCheck({ email, password });
const checkSetup = bodyCheck({ code, email, password, name });

/** The two ways into the console, whether it waits for its administrator, and whether the caller is in already. @source interfaces.md, Log-in and drill */
export const signInActions: readonly Action[] = [
  {
    method: "post",
    at: "login",
    outsideVersion: true,
    permission: "open",
    accepts: { email, password },
    async handle(request) {
      refuseForeignOrigin(request);
      const account = checkLogin(request.body) as { email: string; password: string };
      return withSession(await request.needs.signIn.byPassword(account, request.address), request.secure);
    },
  },
  {
    method: "get",
    at: "setup",
    outsideVersion: true,
    permission: "open",
    handle: async (request) => {
      const { needs } = request;
      return json({ needed: needs.firstRun.needed(), loggedIn: callerByCookie(request, needs.access) !== null });
    },
  },
  {
    method: "post",
    at: "setup",
    outsideVersion: true,
    permission: "open",
    accepts: { code, email, password, name },
    async handle(request) {
      refuseForeignOrigin(request);
      const given = checkSetup(request.body) as { code: string; email: string; password: string; name: string | null };
      return withSession(await request.needs.firstRun.setUp(given, request.address), request.secure);
    },
  },
];

function withSession(token: string, secure: boolean): Answer {
  return { status: 204, headers: { "Set-Cookie": sessionCookie(token, secure) }, body: null };
}
