import { beforeAll, describe, expect, it } from "vitest";
import { SignedXml } from "xml-crypto";
import { parseCertificates, verifiedContent } from "../../plugins/cap-in/signature.ts";
import { FAKE_CLOCK_START } from "../support/fake-clock.ts";
import { capPlugins } from "./cap/cap-plugin.ts";
import { alertXml, atomXml } from "./cap/documents.ts";
import { makeSigner, type TestSigner } from "./cap/signing.ts";

const { open, run } = capPlugins();

const C14N = "http://www.w3.org/2001/10/xml-exc-c14n#";
const ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";

/** Signs a document as a whole, after the signatures that it has. */
function signed(text: string, { signingKey, certificate }: TestSigner, isNamed = true): string {
  const signature = new SignedXml({
    ...{ privateKey: signingKey, canonicalizationAlgorithm: C14N },
    signatureAlgorithm: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
    ...(isNamed ? { publicCert: certificate, getKeyInfoContent: SignedXml.getKeyInfoContent } : {}),
  });
  const digestAlgorithm = "http://www.w3.org/2001/04/xmlenc#sha256";
  signature.addReference({ xpath: "/*", uri: "", isEmptyUri: true, digestAlgorithm, transforms: [ENVELOPED, C14N] });
  signature.computeSignature(text, { location: { reference: "/*", action: "append" } });
  return signature.getSignedXml();
}

const signatureOf = (text: string): string => /<(\w+:)?Signature [\s\S]*<\/(\w+:)?Signature>/.exec(text)?.[0] ?? "";
const inRoot = (text: string, content: string): string => text.replace(/(<\/[\w:]*alert>\s*)$/, `${content}$1`);

describe("signatures of alerts", () => {
  let issuer: TestSigner;
  let distributor: TestSigner;
  let stranger: TestSigner;
  beforeAll(async () => {
    [issuer, distributor, stranger] = (await Promise.all(["Issuer", "Distributor", "Stranger"].map(makeSigner))) as [
      TestSigner,
      TestSigner,
      TestSigner,
    ];
  });

  const verify = (text: string, ...trusted: TestSigner[]): string =>
    verifiedContent(text, parseCertificates(trusted.map((each) => each.certificate).join("\n")), FAKE_CLOCK_START);
  const plain = alertXml();

  it("are good if one of two is of a trusted signer, whichever it is", () => {
    const twice = signed(signed(plain, issuer), distributor);
    for (const trusted of [[issuer], [distributor], [stranger, issuer], [issuer, distributor]])
      expect(verify(twice, ...trusted)).toContain("Tornado");
    expect(() => verify(twice, stranger)).toThrow("the signer is not trusted");
  });

  it("name what is wrong with that of the trusted signer", () => {
    const changed = signed(signed(plain, issuer).replace("Tornado", "Picnic"), stranger);
    expect(() => verify(changed, issuer)).toThrow("invalid signature");
  });

  it("do not cover what is added to the alert", () => {
    const one = signed(plain, issuer);
    const forged = alertXml().replaceAll("Tornado", "Picnic");
    const wrong: readonly [string, string][] = [
      ["a text that was changed", one.replace("Tornado", "Picnic")],
      ["an element", inRoot(one, "<info><event>Picnic</event></info>")],
      ["the signature in another alert", inRoot(forged, signatureOf(one))],
      ["the alert within another one", inRoot(forged, one.replace(/<\?.*?\?>/, ""))],
      [
        "the alert in a part that is not read",
        inRoot(forged, `<note>${one.replace(/<\?.*?\?>/, "")}</note>${signatureOf(one)}`),
      ],
      ["an empty signature", inRoot(plain, '<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"/>')],
      ["one of another namespace", inRoot(plain, "<Signature/>")],
      ["more than are read", inRoot(plain, signatureOf(one).repeat(5))],
    ];
    for (const [what, text] of wrong) expect(() => verify(text, issuer), what).toThrow(RangeError);
  });

  it("give only what they cover if a signed part is moved by its id", () => {
    // Signed by its id, which any element of the document may have.
    const root = alertXml().replace("<alert ", '<alert Id="a1" ').replace("<cap:alert ", '<cap:alert Id="a1" ');
    const signature = new SignedXml({
      ...{ privateKey: issuer.signingKey, publicCert: issuer.certificate, canonicalizationAlgorithm: C14N },
      signatureAlgorithm: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
      getKeyInfoContent: SignedXml.getKeyInfoContent,
    });
    const digestAlgorithm = "http://www.w3.org/2001/04/xmlenc#sha256";
    signature.addReference({ xpath: "/*", digestAlgorithm, transforms: [ENVELOPED, C14N] });
    signature.computeSignature(root, { location: { reference: "/*", action: "append" } });
    const one = signature.getSignedXml();
    expect(verify(one, issuer)).toContain("Tornado");
    const original = one.replace(/<\?.*?\?>/, "").replace(signatureOf(one), "");
    const moved = inRoot(alertXml().replaceAll("Tornado", "Picnic"), `<note>${original}</note>${signatureOf(one)}`);
    let given = "";
    try {
      given = verify(moved, issuer);
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
    expect(given).not.toContain("Picnic");
  });

  it("must name their certificate where several are trusted", () => {
    const unnamed = signed(plain, issuer, false);
    expect(verify(unnamed, issuer)).toContain("Tornado");
    expect(() => verify(unnamed, issuer, distributor)).toThrow("does not name its certificate");
    expect(() => verify(unnamed, stranger)).toThrow("invalid signature");
  });

  it.each<[boolean | "warn", string[], string | null]>([
    [true, ["good"], "/bad: not signed"],
    ["warn", ["good", "bad"], "the signature of the latest alert is not good: not signed"],
    [false, ["good", "bad"], null],
  ])("are judged as the feed says: %s", async (mode, taken, problem) => {
    const server = await open();
    const document = (identifier: string, sent: string) => alertXml({ identifier, sent });
    server.pages.set("/good", signed(document("good", new Date(FAKE_CLOCK_START - 2_000).toISOString()), issuer));
    server.pages.set("/bad", document("bad", new Date(FAKE_CLOCK_START - 1_000).toISOString()));
    server.pages.set("/atom", atomXml("good", "bad"));
    const feeds = [{ name: "State", url: server.url("/atom"), signed: mode }];
    const { until, triggered, cap } = await run(feeds, { trustedCertificates: issuer.certificate });
    await until(() => cap.statuses.length > 0);
    expect(triggered().map(({ values }) => values.identifier)).toEqual(taken);
    const [status] = cap.statuses;
    if (problem === null) expect(status).toMatchObject({ state: "ok" });
    else expect(status?.reason).toContain(problem);
  });
});
