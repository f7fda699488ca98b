import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCertificateAuthority, issueServerCertificate } from "../../../src/ops/tls/certificate-authority.ts";
import triggers from "../../../src/resources/webhooks/triggers.ts";
import { openWebhookFixture, type WebhookFixture } from "./webhook-fixture.ts";

let at: WebhookFixture;
beforeEach(async () => {
  at = await openWebhookFixture();
});
afterEach(() => at.close());

describe("a receiver with a certificate of the site's own authority", () => {
  it("is called once its authority is known, and not with another one", async () => {
    const [own, other] = await Promise.all(
      ["Site", "Other"].map((name) => createCertificateAuthority(name, Date.now())),
    );
    const { certificate, key } = await issueServerCertificate(own as never, ["127.0.0.1"], Date.now());
    let calls = 0;
    const server = createServer({ cert: certificate, key }, (_request, response) => {
      calls++;
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { id } = await at.trigger({ url, certificateAuthority: other?.certificate });
    await at.restart();
    await at.list("One");
    await at.until(() => at.deliveries(id)[0]?.attempts === 1);
    expect([calls, at.deliveries(id)[0]?.reason]).toEqual([0, expect.stringContaining("certificate")]);
    await at.store.update(triggers, id, { certificateAuthority: own?.certificate }, at.system);
    await at.clock.advance(6_001);
    await at.until(() => at.deliveries(id)[0]?.state === "delivered");
    expect(calls).toBe(1);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it.each(["no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"])(
    "is refused unless it is a certificate: %j",
    async (certificateAuthority) => {
      await expect(at.trigger({ url: "https://127.0.0.1/", certificateAuthority })).rejects.toThrow("PEM");
    },
  );
});
