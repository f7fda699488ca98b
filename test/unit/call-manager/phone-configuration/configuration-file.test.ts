import { describe, expect, it } from "vitest";
import { readConfigurationFile } from "../../../../src/call-manager/phone-configuration/configuration-file.ts";

const XML = '<?xml version="1.0" encoding="UTF-8"?>\n';

function read(inner: string | Buffer): ReturnType<typeof readConfigurationFile> {
  return readConfigurationFile(typeof inner === "string" ? Buffer.from(`${XML}<device>${inner}</device>`) : inner);
}

describe("a phone's configuration file", () => {
  it("says what decides about pushes, and nothing else of it is kept", () => {
    const found = read(
      "<sshPassword>hunter2</sshPassword><commonProfile><phonePassword>1234</phonePassword></commonProfile>" +
        "<vendorConfig><webAccess>0</webAccess><webProtocol>1</webProtocol></vendorConfig>" +
        "<loadInformation>sip8845_65.14-1-1</loadInformation><deviceSecurityMode>3</deviceSecurityMode>" +
        "<authenticationURL>http://10.0.0.1:8085/?a=1&amp;b=2</authenticationURL>" +
        "<secureAuthenticationURL>https://user:pass@10.0.0.1/x</secureAuthenticationURL>" +
        "<capfList><capf><phonePort>3804</phonePort><processNodeName>capf.example.org</processNodeName></capf></capfList>",
    );
    expect(found).toEqual({
      isSigned: false,
      authenticationUrl: "http://10.0.0.1:8085/?a=1&b=2",
      secureAuthenticationUrl: "https://10.0.0.1/x",
      webAccess: "full",
      isHttpsOnly: true,
      load: "sip8845_65.14-1-1",
      securityMode: "encrypted",
      capfAddress: "capf.example.org",
    });
    expect(JSON.stringify(found)).not.toMatch(/hunter2|1234|pass/);
  });

  it.each([
    ["0", "full"],
    ["1", "off"],
    ["2", "read-only"],
    [" 1\n", "off"],
    // Generators write these; phones do not understand them.
    ["on", null],
    ["true", null],
    ["", null],
    ["<!-- full -->0", "full"],
  ])("web access %j is %s", (given, expected) => {
    expect(read(`<vendorConfig><webAccess>${given}</webAccess></vendorConfig>`)).toMatchObject({ webAccess: expected });
  });

  it("prefers the phone's own setting to that of its profile and of all phones", () => {
    const setting = (value: number): string => `<vendorConfig><webAccess>${value}</webAccess></vendorConfig>`;
    const common = `<commonProfile>${setting(0)}</commonProfile>`;
    expect(read(`${common}${setting(1)}`)).toMatchObject({ webAccess: "off" });
    expect(read(`${common}<vendorConfig><pcPort>0</pcPort></vendorConfig>`)).toMatchObject({ webAccess: "full" });
    expect(read(`<enterpriseConfig>${setting(2)}</enterpriseConfig>`)).toMatchObject({ webAccess: "read-only" });
  });

  const url = "<authenticationURL>http://10.0.0.1/</authenticationURL>";
  const whole = `${XML}<device>${url}</device>`;
  it.each<[string, Buffer]>([
    ["a byte order mark and an empty line first", Buffer.from(`\ufeff\n${whole}`)],
    ["no declaration", Buffer.from(`<device>${url}</device>`)],
    [
      "a type of the device with a prefix",
      Buffer.from(`${XML}<device xsi:type="axl:XIPPhone" ctiid="94">${url}</device>`),
    ],
    ["other capitals", Buffer.from(`${XML}<device><authenticationUrl>http://10.0.0.1/</authenticationUrl></device>`)],
    ["zero bytes behind it", Buffer.concat([Buffer.from(whole), Buffer.alloc(30)])],
    [
      "a URL in CDATA",
      Buffer.from(`${XML}<device><authenticationURL><![CDATA[http://10.0.0.1/]]></authenticationURL></device>`),
    ],
    [
      "the URL twice",
      Buffer.from(`${XML}<device>${url}<authenticationURL>http://10.0.0.2/</authenticationURL></device>`),
    ],
    [
      "spaces around the URL",
      Buffer.from(`${XML}<device><authenticationURL> http://10.0.0.1/ </authenticationURL></device>`),
    ],
    ["UTF-16", Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(`<device>${url}</device>`, "utf16le")])],
    [
      "Latin-1",
      Buffer.from(whole.replace("UTF-8", "ISO-8859-1").replace("<device>", "<device><name>Büro</name>"), "latin1"),
    ],
    ["Windows line ends", Buffer.from(whole.replaceAll("><", ">\r\n<"))],
  ])("is read with %s", (_, content) => {
    expect(read(content)).toMatchObject({ authenticationUrl: "http://10.0.0.1/", isSigned: false });
  });

  it("is read behind its signature", () => {
    const signature = Buffer.concat([Buffer.from("0100020100020002010c", "hex"), Buffer.alloc(268, 0x5a)]);
    expect(read(Buffer.concat([signature, Buffer.from(whole)]))).toMatchObject({
      isSigned: true,
      authenticationUrl: "http://10.0.0.1/",
    });
  });

  it("that is encrypted is said to be", () => {
    expect(read(Buffer.concat([Buffer.from("010002", "hex"), Buffer.alloc(900, 0x9b)]))).toBe("encrypted");
  });

  it.each([
    ["nothing", ""],
    ["a page of a web server", "<html><body>404</body></html>"],
    ["a document type", `<!DOCTYPE device [<!ENTITY a "b">]><device>${url}</device>`],
    ["an entity bomb", `${XML}<!ENTITY a "&a;&a;"><device>&a;</device>`],
    ["a bare ampersand", `${XML}<device><authenticationURL>http://10.0.0.1/?a=1&b=2</authenticationURL>`],
    ["half a file", whole.slice(0, 70)],
    ["another root", `${XML}<Default>${url}</Default>`],
    ["text as the device", `${XML}<device>nothing</device>`],
    ["very deep elements", `${XML}<device>${"<a>".repeat(5_000)}${"</a>".repeat(5_000)}</device>`],
    ["a configuration of other makers", "[account]\npassword=1\n"],
  ])("is invalid: %s", (_, content) => {
    expect(readConfigurationFile(Buffer.from(content))).toBe("invalid");
  });
});
