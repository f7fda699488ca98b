import type { RequestListener } from "node:http";
import { beforeAll, expect, it } from "vitest";
import type { HubLinkCallbacks } from "../../../src/cloud-link/hub-link.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import type { CloudCredential } from "../../../src/sync/protocol/control-messages.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createProxiedRequestHandler } from "../../../src/wiring/proxied-requests.ts";

const came: string[] = [];
const listener: RequestListener = ({ method, url, socket }, response) => {
  came.push(`${method} ${url} ${socket.remoteAddress}`);
  response.end("{}");
};

const issued: unknown[] = [];
let cameBeforeProof = 0;
let forward: HubLinkCallbacks["request"];
beforeAll(async () => {
  const person = { userId: "u", userPk: 1, name: "U", email: null, tokenId: "t", accessToken: "cloud's" };
  forward = createProxiedRequestHandler({
    access: {
      authenticate: (token) => (token === "cloud's" ? { ...person, scopes: ["urn:service:users:write"] } : null),
      issueTemporaryToken(user, appliance) {
        issued.push([user.userId, user.scopes, appliance.domainIds]);
        return { token: "lent", end: () => undefined };
      },
    },
    proofs: {
      issue(userId, endpoint, at) {
        cameBeforeProof = came.length;
        return `proof of ${userId} at ${endpoint} since ${at}`;
      },
      verify: (proof, endpoint) =>
        proof === `valid at ${endpoint}` ? { userId: "u", scopes: null, loggedInAt: 7 } : null,
    },
    catalogue: createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])),
    listener,
    url: "http://127.0.0.1:1",
  });
});

const ask = (method: string, target: string, credential: CloudCredential | undefined = { token: "cloud's" }) =>
  forward(
    { endpoint: "e1", domainIds: ["north"] },
    { kind: "request", credential, method, target, headers: {}, body: "" },
  );
const outcome = (answer: ReturnType<typeof ask>): Promise<unknown> =>
  answer.then(
    ({ status }) => status,
    ({ type }: { type: string }) => type,
  );

it("executes requests for cloud-owned rows on behalf of the appliance, and rejects all others", async () => {
  const clouds = [
    ["POST", "/api/v1/users?dryRun=true"],
    ["PUT", "/api/v1/users/1/profile"],
    ["PUT", "/api/v1/users/1/password"],
    ["POST", "/api/v1/security-groups/1/members"],
    ["POST", "/api/v1/domains/1/users"],
    ["DELETE", "/api/v1/extensions/1/endpoints/2"],
  ] as const;
  for (const [method, target] of clouds) expect([target, await outcome(ask(method, target))]).toEqual([target, 200]);
  expect(came).toEqual(clouds.map(([method, target]) => `${method} ${target} endpoint:e1`));
  const others = [
    ["POST", "/api/v1/link/codes"],
    ["POST", "/api/v1/users/../link/codes"],
    ["POST", "/api/v1/users/%2e%2e/link/codes"],
    ["POST", "/api/v1/users/1/Tokens"],
    ["POST", "/api/v1/users/1/devices"],
    ["PUT", "/api/v1/extensions/1"],
    ["POST", "/api/v1/notifications"],
    ["POST", "/login"],
  ] as const;
  for (const [method, target] of others)
    expect([target, await outcome(ask(method, target))]).toEqual([target, "forbidden"]);
  expect(came.length).toBe(clouds.length);
});

it("believes tokens of the cloud and proofs for this appliance, and limits both to its domains", async () => {
  issued.length = 0;
  expect(await ask("POST", "/api/v1/users")).not.toHaveProperty("proof");
  const proven = await ask("POST", "/api/v1/users", { proof: "valid at e1" });
  expect(proven).toMatchObject({ status: 200, proof: "proof of u at e1 since 7" });
  // A proof that was renewed after the request would survive a password that changed during it.
  expect(cameBeforeProof).toBe(came.length - 1);
  expect(issued).toEqual([
    ["u", ["urn:service:users:write"], ["north"]],
    ["u", null, ["north"]],
  ]);
  const others = [{ token: "appliance's" }, { token: "valid at e1" }, { proof: "valid at e2" }, { proof: "cloud's" }];
  for (const credential of others)
    expect([credential, await outcome(ask("POST", "/api/v1/users", credential))]).toEqual([credential, "unauthorized"]);
  const old = { kind: "request", method: "POST", target: "/api/v1/users", headers: {}, body: "" } as const;
  await expect(forward({ endpoint: "e1", domainIds: null }, old)).rejects.toThrow("must be upgraded");
  expect(issued).toHaveLength(2);
});
