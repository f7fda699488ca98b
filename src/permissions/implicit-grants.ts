import type { Grant } from "./grants.ts";

/**
 * The implicit grants of every user: read itself; read and delete its notifications, subscriptions and permissions;
 * answer its notifications; manage its devices; read and end the session; read its tokens, security groups, domains and
 * permissions; revoke its tokens; change its password, second factors and profile; join and leave open lists; opt out of messages that
 * allow it.
 * @source docs/decisions/0003-authentication.md, Permissions; docs/decisions/0401-permission-rules.md, Implicit grants
 */
export function buildImplicitGrants(userId: string): Grant[] {
  const own = `/users/${userId}`;
  return [
    { verb: "get", spec: own },
    { verb: "put", spec: `${own}/password` },
    { verb: "get", spec: `${own}/second-factors/*` },
    ...FACTOR_PATHS.map((at): Grant => ({ verb: "post", spec: `${own}/${at}` })),
    { verb: "get", spec: `${own}/profile` },
    { verb: "put", spec: `${own}/profile` },
    ...readAndDelete("/session"),
    ...readAndDelete(`${own}/notifications/*`),
    { verb: "get", spec: `${own}/notifications/*/activities/*` },
    { verb: "post", spec: `${own}/notifications/*/activities` },
    ...readAndDelete(`${own}/subscriptions/*`),
    ...readAndDelete(`${own}/user-permissions/*`),
    ...readAndDelete(`${own}/tokens/*`),
    { verb: "get", spec: `${own}/security-groups/*` },
    { verb: "get", spec: `${own}/domains/*` },
    { verb: "get", spec: `${own}/all-permissions` },
    { verb: "get", spec: `${own}/all-permission-sets` },
    { verb: "get", spec: `${own}/subscribable-distribution-lists/*` },
    { verb: "put", spec: `${own}/subscribable-distribution-lists/*` },
    ...readAndDelete(`${own}/opt-outs/*`),
    { verb: "post", spec: `${own}/opt-outs` },
    ...readAndDelete(`${own}/devices/*`),
    { verb: "post", spec: `${own}/devices` },
    { verb: "put", spec: `${own}/devices/*` },
    { verb: "post", spec: `${own}/devices/*/locations` },
    { verb: "post", spec: `${own}/devices/*/verification-code` },
    { verb: "post", spec: `${own}/devices/*/verification` },
  ];
}

function readAndDelete(spec: string): Grant[] {
  return [
    { verb: "get", spec },
    { verb: "delete", spec },
  ];
}

/** Below the user: set-up and removal of second factors. */
const FACTOR_PATHS = [
  ...["authenticator-app", "authenticator-app/confirmation", "passkey-options", "passkeys"],
  ...["recovery-codes", "second-factor-removal"],
];
