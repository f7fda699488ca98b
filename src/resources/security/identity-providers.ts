import { boolean, computed, integer, option, secret, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Longest list of certificates and keys in PEM form. own choice */
const PEM = { max: 50_000, search: false, filter: false } as const;
/** How long addresses, names in directories and filters may be. own choice */
const LONG = { max: 1_000, search: false } as const;

/**
 * Who vouches for users at log-in. own choice: the path and all fields but those of users' `providerIdp`; the built-in one,
 * whose id is the audience of client credentials, is always there.
 * @source digest `/v1/users` (providerIdp, providerIdpId); service-api.md, Session; OpenID Connect Core 1.0; RFC 4511; SAML 2.0
 */
export default defineResource({
  name: "identity-providers",
  doc: "Somebody who vouches for users at log-in: the appliance itself, a directory, or the log-in of another site.",
  paths: [{ at: "identity-providers" }],
  idParam: "identityProviderId",
  scope: "organisation",
  replicate: "local",
  limit: { most: 20 },
  fields: {
    name: text("What the button at log-in says.", { required: true, min: 1, max: 140, unique: true }),
    type: option(
      "oidc: OpenID Connect; ldap: a directory that is asked with address and password; saml: SAML 2.0; built-in: passwords are kept here.",
      ["oidc", "ldap", "saml", "built-in"],
      { required: true, createOnly: true },
    ),
    isDefault: computed("Asked for users of whom nobody knows whose they are: the built-in one.", "boolean"),
    enabled: boolean(
      "Whether users may log in by it. While the built-in one is not enabled, its users are refused but for those with `breakGlass`.",
      { default: true },
    ),
    selfRegistrationEnabled: boolean("Whether it makes users of people who come by themselves.", { default: false }),
    createsGroups: boolean("Groups that it names and nobody knows are made, so that they can be tied.", {
      default: true,
    }),
    issuer: text("OpenID Connect: what the provider is called, which is where it describes itself.", {
      ...LONG,
      format: "url",
    }),
    clientId: text("OpenID Connect: what the provider calls this appliance.", { max: 255, search: false }),
    clientSecret: secret("OpenID Connect: what this appliance shows the provider; none for a public client."),
    scope: text("OpenID Connect: what is asked for, with spaces between; `openid email profile` unless given.", LONG),
    logOut: boolean("OpenID Connect: whoever logs out here is led to the provider to log out there, too.", {
      default: false,
    }),
    url: text(
      "Directory: ldap:// or ldaps:// with its host and, where it is another than 389 and 636, its port.",
      LONG,
    ),
    startTls: boolean("Directory: TLS begins on the plain port before anything else is said.", { default: false }),
    bindDn: text("Directory: as whom it is searched; nobody in particular unless given.", LONG),
    bindPassword: secret("Directory: that one's password."),
    userBase: text("Directory: where people are searched, such as ou=people,dc=example,dc=org.", LONG),
    userFilter: text(
      "Directory: who is meant by what was typed, `{login}`; by mail, uid and sAMAccountName unless given.",
      LONG,
    ),
    groupBase: text("Directory: where groups are searched; none are unless given.", LONG),
    groupFilter: text("Directory: groups of the person `{dn}`; `(member={dn})` unless given.", LONG),
    syncSchedule: text(
      "Directory: when users and their groups are brought in line, as a cron expression in local time; null for never by itself.",
      { max: 140, default: "15 3 * * *" },
    ),
    lastSyncAt: timestamp("Directory: when that was done last.", { readOnly: true }),
    lastSyncResult: text("Directory: what came of it, in words.", { max: 1_000, readOnly: true }),
    lastSyncOutcome: option(
      "Directory: what came of it. nobody-yet: nobody has logged in by it; none-found: it knows none of its users, nothing was changed; held-back: it would have taken out so many that somebody has to say so; failed: it can't be asked.",
      ["in-line", "nobody-yet", "none-found", "held-back", "failed"],
      { readOnly: true },
    ),
    lastSyncInLine: integer("Directory: people who are in line since.", { readOnly: true }),
    lastSyncGone: integer(
      "Directory: people who were taken out, since they or all their groups are not in it any more; while held back those who would be.",
      { readOnly: true },
    ),
    entryPoint: text("SAML: where people are sent to log in.", { ...LONG, format: "url" }),
    idpIssuer: text("SAML: the provider's entity id.", LONG),
    idpCertificates: text("SAML: certificates that it signs with, in PEM form, one after the other.", PEM),
    spIssuer: text("SAML: this appliance's entity id; the address of its metadata unless given.", LONG),
    spPrivateKey: secret("SAML: key in PEM form that requests are signed with; they are not unless given.", {
      max: 10_000,
    }),
    spCertificate: text("SAML: that key's certificate, in PEM form; it stands in the metadata.", PEM),
    caCertificates: text(
      "OpenID Connect and directory: authorities of its TLS certificate, in PEM form; those that the machine trusts unless given.",
      PEM,
    ),
    subjectAttribute: text(
      "What tells people apart for ever: `sub` or the SAML name id unless given; of a directory entryUUID or objectGUID.",
      { max: 255, search: false },
    ),
    emailAttribute: text(
      "Claim or attribute with the mail address; `email` unless given, `mail` in directories. OpenID Connect: an address that the provider does not call verified counts only if the claim is named here and the provider says nothing of it.",
      { max: 255, search: false },
    ),
    nameAttribute: text("Claim or attribute with the name; `name` unless given, `cn` in directories.", {
      max: 255,
      search: false,
    }),
    groupsAttribute: text(
      "OpenID Connect and SAML: claim or attribute with the groups; they are not read unless given.",
      {
        max: 255,
        search: false,
      },
    ),
    clockToleranceInSecs: integer("How far the provider's clock may be off.", { max: 600, default: 60, unit: "s" }),
    redirectUri: computed("OpenID Connect and SAML: where the provider must send people back to.", "text", {
      nullable: true,
    }),
    metadataUrl: computed("SAML: where this appliance describes itself to the provider.", "text", { nullable: true }),
  },
});
