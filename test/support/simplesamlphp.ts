import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { reachable, stopProgram } from "./directory-peer.ts";
import { unusedPort } from "./free-port.ts";
import { makeTempDir } from "./temp-dir.ts";

/** Where the package has its pages. */
const PAGES = "/usr/share/simplesamlphp/www";

/** What the identity provider sends and signs; each request reads it again. @source SimpleSAMLphp 1.19, IdP hosted metadata */
interface IdpSettings {
  nameIdFormat: "persistent" | "transient";
  signsResponse: boolean;
  signsAssertion: boolean;
  signsLogout: boolean;
  /** Authentication context class that it claims. */
  context: string;
}

/** SimpleSAMLphp as identity provider on loopback. */
export interface SimpleSamlPeer {
  entryPoint: string;
  entityId: string;
  certificate: string;
  /** Attributes of the people by login name; their passwords are `pass-<name>`. */
  setPeople(people: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>): void;
  /** Makes a service provider known. */
  setServiceProvider(entityId: string, consumer: string, logout: string): void;
  /** Where its single logout takes requests and responses. */
  logoutUrl: string;
  /** Begins a single logout in the browser that goes there, and comes back here. */
  logoutPage(back: string): string;
  change(settings: Partial<IdpSettings>): void;
  stop(): Promise<void>;
}

/** Starts one in PHP's own web server. */
export async function startSimpleSaml(): Promise<SimpleSamlPeer> {
  const folder = makeTempDir();
  for (const name of ["config", "metadata", "cert", "log", "data", "tmp", "sessions"]) mkdirSync(join(folder, name));
  const port = await unusedPort();
  const origin = `http://127.0.0.1:${port}`;
  const entityId = `${origin}/idp`;
  const key = ["-keyout", join(folder, "cert/idp.pem"), "-out", join(folder, "cert/idp.crt"), "-nodes", "-days", "2"];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", ...key, "-subj", "/CN=idp"], { stdio: "pipe" });
  const writePhp = (file: string, variable: string, json: unknown): void => {
    writeFileSync(join(folder, `${file}.json`), JSON.stringify(json));
    const read = `json_decode(file_get_contents(__DIR__ . '/${file.split("/")[1]}.json'), true)`;
    writeFileSync(join(folder, `${file}.php`), `<?php $${variable} = ${read};\n`);
  };
  writePhp("config/config", "config", {
    baseurlpath: `${origin}/`,
    ...Object.fromEntries(["cert", "log", "data", "metadata"].map((name) => [FOLDERS[name], `${join(folder, name)}/`])),
    ...{ tempdir: join(folder, "tmp"), "session.phpsession.savepath": join(folder, "sessions") },
    ...{ secretsalt: "of the test", "auth.adminpassword": "of the test", timezone: "UTC" },
    ...{ "logging.handler": "file", "enable.saml20-idp": true, "store.type": "phpsession" },
    "module.enable": { exampleauth: true, core: true, saml: true },
    ...{ "session.cookie.secure": false, "language.cookie.secure": false, "language.available": ["en"] },
    "trusted.url.domains": null,
  });
  let settings: IdpSettings = {
    nameIdFormat: "persistent",
    signsResponse: true,
    signsAssertion: true,
    signsLogout: true,
    context: "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport",
  };
  const writeIdp = (): void => {
    const names = { persistent: "saml:PersistentNameID", transient: "saml:TransientNameID" };
    const idp = {
      ...{ host: "__DEFAULT__", privatekey: "idp.pem", certificate: "idp.crt", auth: "people" },
      ...{
        "sign.logout": settings.signsLogout,
        "saml20.sign.response": settings.signsResponse,
        "saml20.sign.assertion": settings.signsAssertion,
      },
      NameIDFormat: `urn:oasis:names:tc:SAML:2.0:nameid-format:${settings.nameIdFormat}`,
      authproc: {
        3: { class: names[settings.nameIdFormat], attribute: "uid" },
        4: { class: "saml:AuthnContextClassRef", AuthnContextClassRef: settings.context },
      },
    };
    writePhp("metadata/saml20-idp-hosted", "metadata", { [entityId]: idp });
  };
  writeIdp();
  writePhp("metadata/saml20-sp-remote", "metadata", {});
  writePhp("config/authsources", "config", { people: ["exampleauth:UserPass"] });
  const env = { ...process.env, SIMPLESAMLPHP_CONFIG_DIR: join(folder, "config") };
  const php = spawn("php", ["-S", `127.0.0.1:${port}`, "-t", PAGES], { env, stdio: "ignore" });
  await reachable(port, php);
  return {
    entryPoint: `${origin}/saml2/idp/SSOService.php`,
    entityId,
    certificate: readFileSync(join(folder, "cert/idp.crt"), "utf8"),
    setPeople(people) {
      const logins = Object.entries(people).map(([name, attributes]) => [
        `${name}:pass-${name}`,
        { uid: [name], ...attributes },
      ]);
      writePhp("config/authsources", "config", {
        people: { 0: "exampleauth:UserPass", ...Object.fromEntries(logins) },
      });
    },
    logoutUrl: `${origin}/saml2/idp/SingleLogoutService.php`,
    logoutPage: (back) => `${origin}/saml2/idp/SingleLogoutService.php?ReturnTo=${encodeURIComponent(back)}`,
    setServiceProvider: (sp, consumer, logout) =>
      writePhp("metadata/saml20-sp-remote", "metadata", {
        [sp]: { AssertionConsumerService: consumer, SingleLogoutService: logout },
      }),
    change(given) {
      settings = { ...settings, ...given };
      writeIdp();
    },
    stop: () => stopProgram(php),
  };
}

/** Their settings of the folders. */
const FOLDERS: Readonly<Record<string, string>> = {
  cert: "certdir",
  log: "loggingdir",
  data: "datadir",
  metadata: "metadatadir",
};
