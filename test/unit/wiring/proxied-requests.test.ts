import type { RequestListener } from "node:http";
import { expect, it } from "vitest";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createProxiedRequestHandler } from "../../../src/wiring/proxied-requests.ts";

const came: string[] = [];
const listener: RequestListener = ({ method, url, socket }, response) => {
  came.push(`${method} ${url} ${socket.remoteAddress}`);
  response.end("{}");
};

it("carries out what only the cloud changes, as coming from the appliance, and nothing else", async () => {
  const forwarded = createProxiedRequestHandler({
    access: { issueTemporaryToken: () => ({ token: "lent", end: () => undefined }) },
    catalogue: createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])),
    listener: () => listener,
    url: () => "http://127.0.0.1:1",
  });
  const asks = (method: string, target: string) =>
    forwarded("e1", { kind: "request", userId: "u", scopes: null, method, target, headers: {}, body: "" }).then(
      ({ status }) => status,
      ({ type }: { type: string }) => type,
    );
  const clouds = [
    ["POST", "/api/v1/users?dryRun=true"],
    ["PUT", "/api/v1/users/1/profile"],
    ["POST", "/api/v1/security-groups/1/members"],
    ["POST", "/api/v1/domains/1/users"],
    ["DELETE", "/api/v1/extensions/1/endpoints/2"],
  ] as const;
  for (const [method, target] of clouds) expect([target, await asks(method, target)]).toEqual([target, 200]);
  expect(came).toEqual(clouds.map(([method, target]) => `${method} ${target} endpoint:e1`));
  const others = [
    ["POST", "/api/v1/link/codes"],
    ["POST", "/api/v1/users/../link/codes"],
    ["POST", "/api/v1/users/%2e%2e/link/codes"],
    ["POST", "/api/v1/users/1/Tokens"],
    ["POST", "/api/v1/users/1/devices"],
    ["PUT", "/api/v1/users/1/password"],
    ["PUT", "/api/v1/extensions/1"],
    ["POST", "/api/v1/notifications"],
    ["POST", "/login"],
  ] as const;
  for (const [method, target] of others) expect([target, await asks(method, target)]).toEqual([target, "forbidden"]);
  expect(came.length).toBe(clouds.length);
});
