import type users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Store } from "../store/store.ts";
import { signLink, verifyLink } from "./signed-links.ts";

/**
 * The value of the cookie by which a browser shows that somebody has logged in with it: up to 5 sealed tokens, separated
 * by dots. A token names an account and its password; it gives no access, but guesses by others do not delay its owner.
 * @source docs/decisions/0480-login-throttle.md
 */
const MAX_ACCOUNTS = 5;
const MAX_LENGTH = 2_500;

type User = Pick<RowOf<typeof users>, "id" | "passwordChangedAt">;

/** The cookie's value after `user` has logged in: the others keep their tokens. */
export function rememberAccount(value: string | null, user: User, store: Pick<Store, "secrets">): string {
  const others = tokensIn(value).filter((token) => !verifyLink("browser", token, store)?.startsWith(`${user.id} `));
  return [signLink("browser", subjectOf(user), store), ...others].slice(0, MAX_ACCOUNTS).join(".");
}

/** The token for the account in a cookie's value; null if the browser is not known for it. */
export function knownBrowserToken(value: string | null, user: User, store: Pick<Store, "secrets">): string | null {
  return tokensIn(value).find((token) => verifyLink("browser", token, store) === subjectOf(user)) ?? null;
}

function tokensIn(value: string | null): string[] {
  return value === null || value.length > MAX_LENGTH ? [] : value.split(".").slice(0, MAX_ACCOUNTS);
}

/** A new password makes the tokens of the former one worthless. */
function subjectOf({ id, passwordChangedAt }: User): string {
  return `${id} ${passwordChangedAt ?? ""}`;
}
