import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type ConsolePage, newConsolePage, startBrowser } from "../support/browser.ts";
import { PHONE_SIZE } from "../support/console-pages.ts";
import { startTestDaemon, TEST_ADMIN, type TestDaemon } from "../support/daemon.ts";
import { LDAP_BASE, type LdapPeer, startLdapPeer } from "../support/directory-peer.ts";
import { externalProgram } from "../support/external-programs.ts";
import { type OpenIdPeer, startOpenIdPeer } from "../support/openid-peer.ts";
import { type SamlPeer, startSamlPeer } from "../support/saml-peer.ts";

const { describe, it } = externalProgram("chromium");
const [slapd, xmlsec1] = [externalProgram("slapd"), externalProgram("xmlsec1")];

describe("log-in by identity providers, in a browser", () => {
  let daemon: TestDaemon;
  let browser: Browser;
  let openId: OpenIdPeer;
  let directory: LdapPeer | undefined;
  let saml: SamlPeer | undefined;
  let directoryId: string;

  beforeAll(async () => {
    [daemon, browser] = await Promise.all([startTestDaemon(), startBrowser()]);
    const campus = { name: "Campus", type: "oidc", issuer: "http://127.0.0.1:9", clientId: "carillon", logOut: true };
    const id = await make(campus);
    openId = await startOpenIdPeer(`${daemon.url}/api/log-in/${id}/back`, `${daemon.url}/`);
    const { issuer, clientSecret } = openId;
    expect((await daemon.call("PUT", `/identity-providers/${id}`, { issuer, clientSecret })).status).toBe(200);
    openId.people.set("root", { email: TEST_ADMIN.email, email_verified: true, name: "Somebody else" });
    if (slapd.available) {
      directory = await startLdapPeer({ bob: "Bob" }, {});
      const { secureUrl: url, authority: caCertificates, bindDn, bindPassword } = directory;
      const house = { name: "House", type: "ldap", url, caCertificates, bindDn, bindPassword };
      directoryId = await make({ ...house, userBase: `ou=people,${LDAP_BASE}`, selfRegistrationEnabled: true });
    }
    if (xmlsec1.available) {
      saml = await startSamlPeer();
      const { entryPoint, entityId: idpIssuer, certificate: idpCertificates } = saml;
      const federation = { name: "Federation", type: "saml", entryPoint, idpIssuer, idpCertificates };
      await make({ ...federation, selfRegistrationEnabled: true });
      saml.nextAssertion = { nameId: "cat-7", attributes: { mail: ["cat@example.org"], displayName: ["Cat"] } };
    }
  });

  afterAll(async () => {
    await browser?.close();
    await Promise.all([openId?.stop(), directory?.stop(), saml?.stop(), daemon?.stop()]);
  });

  async function make(json: object): Promise<string> {
    const made = await daemon.call<{ id: string }>("POST", "/identity-providers", json);
    expect(made.status).toBe(200);
    return made.body.id;
  }

  /** A window in which nobody has logged in; whatever pages want from outside of the machine is empty. */
  async function openDoor(path: string, options: BrowserContextOptions = {}): Promise<ConsolePage> {
    const window = await newConsolePage(browser, daemon.url, options);
    const isOutside = ({ hostname }: URL): boolean => hostname !== "127.0.0.1";
    await window.page.route(isOutside, (route) => route.fulfill({ contentType: "text/css", body: "" }));
    await window.open(path);
    return window;
  }

  /** Without what browsers write down of each answer that is a refusal. */
  const beside = (faults: readonly string[], ...statuses: number[]): string[] =>
    faults.filter((fault) => !statuses.some((status) => fault.includes(`status of ${status} `)));

  it("leads by OpenID Connect to where it began, and at log-out to the provider's, too", async () => {
    const { page, axe, idle, errors } = await openDoor(`/identity-providers?open=${directoryId ?? "none"}`);
    expect(await axe()).toEqual([]);
    await page.getByRole("link", { name: "Log in with Campus" }).click();
    await page.fill("[name=login]", "root");
    await page.fill("[name=password]", "whatever");
    await page.click("[type=submit]");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.waitForSelector(".frame");
    await page.getByRole("heading", { name: "Identity providers" }).waitFor();
    if (directory) {
      await page.getByRole("tab", { name: "Connection" }).click();
      await page.getByRole("button", { name: "Test connection" }).click();
      await page.getByText("All checks passed.").waitFor();
      await idle();
      expect(await axe()).toEqual([]);
      await page.keyboard.press("Escape");
    }
    await page.getByRole("button", { name: "Your account and settings" }).click();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("button", { name: "Yes, sign me out" }).click();
    await page.getByRole("link", { name: "Log in with Campus" }).waitFor();
    expect(beside(errors, 401, 404)).toEqual([]);
  });

  slapd.it(
    "takes the name and the password that a directory keeps",
    async () => {
      const { page, errors } = await openDoor("/");
      await page.getByLabel("E-mail or user name").fill("bob");
      await page.fill("input[type=password]", "pass-bob");
      await page.getByRole("button", { name: "Log in", exact: true }).click();
      await page.waitForSelector(".frame");
      await page.getByRole("button", { name: "Your account and settings" }).click();
      await page.getByRole("dialog", { name: "Bob" }).waitFor();
      expect(beside(errors, 401, 403)).toEqual([]);
    },
    120_000,
  );

  xmlsec1.it(
    "says why it refuses what a SAML provider did not sign, in German and on a phone; then lets in",
    async () => {
      const phone = { locale: "de-DE", viewport: PHONE_SIZE, colorScheme: "dark" } as const;
      const { page, axe, errors } = await openDoor("/", phone);
      const logIn = async (): Promise<void> => {
        await page.getByRole("link", { name: "Anmelden mit Federation" }).click();
        await page.getByRole("button", { name: "Enter" }).click();
      };
      if (saml) saml.hasOtherKey = true;
      await logIn();
      await page.getByRole("alert").getByText("nicht vom Anmeldedienst unterschrieben").waitFor();
      expect(await axe()).toEqual([]);
      if (saml) saml.hasOtherKey = false;
      await page.getByRole("link", { name: "Zurück zur Anmeldung" }).click();
      await logIn();
      await page.waitForSelector(".frame");
      await page.getByRole("button", { name: "Konto und Einstellungen" }).click();
      await page.getByRole("dialog", { name: "Cat" }).waitFor();
      expect(beside(errors, 400, 401, 403)).toEqual([]);
    },
    120_000,
  );
});
