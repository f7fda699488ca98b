import type { Grant } from "./grants.ts";

/**
 * What every user may do without any permission: read itself; read and delete own notifications, subscriptions and
 * permissions; answer own notifications; manage own devices; read and end the session. @source decisions.md 3
 *
 * own choice: own tokens, security groups, domains and all permissions can be read too, own tokens revoked, the own
 * password and profile changed, lists joined and left that are open to it, and messages declined that can be.
 */
export function buildImplicitGrants(userId: string): Grant[] {
  const own = `/users/${userId}`;
  return [
    { verb: "get", spec: own },
    { verb: "put", spec: `${own}/password` },
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
  ];
}

function readAndDelete(spec: string): Grant[] {
  return [
    { verb: "get", spec },
    { verb: "delete", spec },
  ];
}
