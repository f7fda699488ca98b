import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { handleSamlRequest } from "../../../src/sso/saml-processor.ts";
import { createSamlService } from "../../../src/sso/saml-service.ts";
import type { SamlConfig } from "../../../src/sso/saml-worker-messages.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const parties: SamlConfig = {
  ...{ consumerUrl: "https://here/consume", issuer: "here", entryPoint: "https://there/", idpIssuer: null },
  ...{ privateKey: null, certificate: null, idpCertificates: ["-"], clockToleranceMs: 0, allowSha1: false },
  ...{
    logoutUrl: null,
    logoutCallbackUrl: "https://here/logout",
    acceptSignedResponse: false,
    nameIdFormat: null,
    contexts: [],
    forceAuthentication: false,
  },
};
const metadata = { what: "metadata", parties } as const;

it("starts a new worker when the previous one ended", async () => {
  const spawned: Worker[] = [];
  const script = `const { parentPort: port } = require("node:worker_threads");
    port.on("message", ({ what }) => { if (what === "fail") throw new Error("late"); port.postMessage({ text: what }); });`;
  const spawn = () => spawned[spawned.push(new Worker(script, { eval: true })) - 1] as Worker;
  const desk = createSamlService(createFakeClock(), spawn);
  expect(await desk.generate(metadata)).toBe("metadata");
  const gone = new Promise((resolve) => spawned[0]?.once("exit", resolve));
  spawned[0]?.postMessage({ what: "fail" });
  await gone;
  expect(await desk.generate(metadata)).toBe("metadata");
  expect(spawned).toHaveLength(2);
  await desk.close();
});

it("rejects malformed tags, whose attributes would escape the size check", async () => {
  const read = async (xml: string) => {
    const response = Buffer.from(xml).toString("base64");
    const answer = await handleSamlRequest({ what: "read", parties, request: "r", requestedAt: "", response });
    return "error" in answer && answer.error.message;
  };
  const good = `<?xml version="1.0"?><!-- - -->\n<a:b xmlns:a = 'x>"y' c="d'"\n><e/><![CDATA[f]]>&lt;</a:b >`;
  expect(await read(good)).toBe("InResponseTo is missing from response");
  for (const bad of ["<a b/>", "<a b=c/>", '<a b="c"d="e"/>', "<a", "<!DOCTYPE a><a/>", `<a${" b".repeat(100_000)}/>`])
    expect(await read(bad)).toBe("The response is not well-formed XML.");
});
