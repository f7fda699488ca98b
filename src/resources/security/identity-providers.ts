import { boolean, computed, integer, option, secret, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";

/** Maximum length of PEM certificates and keys. */
const PEM = { max: 50_000, search: false, filter: false } as const;
/** Maximum length of URLs, distinguished names and filters. */
const LONG_TEXT = { max: 1_000, search: false } as const;

/**
 * Identity providers for login. The built-in provider, whose id is the audience of client credentials, always exists.
 * @source OpenID Connect Core 1.0; RFC 4511; SAML 2.0; docs/decisions/0042-api-contract.md, `/v1/users`
 */
export default defineResource({
  name: "identity-providers",
  doc: "An identity provider for login: the appliance itself, an LDAP directory, or a single sign-on service.",
  paths: [{ at: "identity-providers" }],
  idParam: "identityProviderId",
  scope: "organisation",
  replicate: "local",
  limit: { most: 20 },
  fields: {
    name: text("Label of the login button.", { required: true, min: 1, max: 140, unique: true }),
    type: option(
      "oidc: OpenID Connect; ldap: an LDAP directory that checks login name and password; saml: SAML 2.0; built-in: passwords stored by Carillon.",
      ["oidc", "ldap", "saml", "built-in"],
      { required: true, createOnly: true },
    ),
    isDefault: computed("Used for users without a known provider: the built-in provider.", "boolean"),
    enabled: boolean(
      "Whether users may log in with it. While the built-in provider is disabled, only its users with `breakGlass` may log in.",
      { default: true },
    ),
    selfRegistrationEnabled: boolean("Whether it creates users at their first login.", { default: false }),
    createsGroups: boolean("Creates unknown groups that the provider reports, so that they can be linked.", {
      default: true,
    }),
    issuer: text("OpenID Connect: issuer URL, used for discovery.", {
      ...LONG_TEXT,
      format: "url",
    }),
    clientId: text("OpenID Connect: client id of this appliance.", { max: 255, search: false }),
    clientSecret: secret("OpenID Connect: client secret; none for a public client.", {
      boundTo: ["issuer", "clientId"],
    }),
    scope: text("OpenID Connect: requested scopes, separated by spaces; default: `openid email profile`.", LONG_TEXT),
    logOut: boolean("OpenID Connect and SAML (with `logoutUrl`): logging out also logs the user out at the provider.", {
      default: false,
    }),
    url: text("LDAP: ldap:// or ldaps:// URL with host and optional port; default ports: 389 and 636.", LONG_TEXT),
    startTls: boolean("LDAP: uses StartTLS on the plain port.", { default: false }),
    bindDn: text("LDAP: bind DN for searches; anonymous by default.", LONG_TEXT),
    bindPassword: secret("LDAP: bind password.", { boundTo: ["url", "startTls", "bindDn"] }),
    userBase: text("LDAP: search base of users, such as ou=people,dc=example,dc=org.", LONG_TEXT),
    userFilter: text(
      "LDAP: filter that finds a user by the login name `{login}`; default: by mail, uid, sAMAccountName and userPrincipalName. A domain before a backslash is left out.",
      LONG_TEXT,
    ),
    groupBase: text("LDAP: search base of groups; by default groups are not read.", LONG_TEXT),
    groupFilter: text(
      "LDAP: filter that finds the groups of the user `{dn}`; default: `(member={dn})`, in Active Directory with groups in groups.",
      LONG_TEXT,
    ),
    syncSchedule: text(
      "LDAP: schedule of the directory sync, as a cron expression in local time; null for manual sync only.",
      { max: 140, default: "15 3 * * *" },
    ),
    lastSyncAt: timestamp("LDAP: time of the last sync.", { readOnly: true }),
    lastSyncResult: text("LDAP: result of the last sync.", { max: 1_000, readOnly: true }),
    lastSyncResultSentence: sentenceField("LDAP: result", "lastSyncResult"),
    lastSyncOutcome: option(
      "LDAP: outcome of the last sync. nobody-yet: no user has logged in with it yet; none-found: none of its users was found, nothing was changed; held-back: the removal threshold was exceeded and confirmation is required; failed: the directory could not be queried.",
      ["in-line", "nobody-yet", "none-found", "held-back", "failed"],
      { readOnly: true },
    ),
    lastSyncInLine: integer("LDAP: users that were synchronised.", { readOnly: true }),
    lastSyncGone: integer(
      "LDAP: users removed because they or all their groups are no longer in the directory; while held back, those that would be removed.",
      { readOnly: true },
    ),
    allowSha1: boolean(
      "SAML: accepts signatures with SHA-1, which can be forged; for providers that have nothing better.",
      {
        default: false,
      },
    ),
    entryPoint: text("SAML: single sign-on URL.", { ...LONG_TEXT, format: "url" }),
    logoutUrl: text(
      "SAML: single logout URL of the provider (redirect binding), where its logout requests are answered.",
      {
        ...LONG_TEXT,
        format: "url",
      },
    ),
    idpIssuer: text("SAML: entity id of the provider.", LONG_TEXT),
    idpCertificates: text("SAML: signing certificates of the provider, concatenated PEM.", PEM),
    spIssuer: text("SAML: entity id of this appliance; default: its metadata URL.", LONG_TEXT),
    spPrivateKey: secret("SAML: private key (PEM) for signing requests; without it requests are not signed.", {
      max: 10_000,
    }),
    spCertificate: text("SAML: certificate (PEM) of that key, published in the metadata.", PEM),
    caCertificates: text(
      "OpenID Connect and LDAP: CA certificates (PEM) for TLS; default: those trusted by the operating system.",
      PEM,
    ),
    subjectAttribute: text(
      "Claim or attribute with the permanent user id; default: `sub` or the SAML NameID, for LDAP entryUUID or objectGUID.",
      { max: 255, search: false },
    ),
    emailAttribute: text(
      "Claim or attribute with the email address; default: `email`, for LDAP `mail`. OpenID Connect: an address that the provider does not report as verified is used only if the claim is named here and the provider does not send email_verified.",
      { max: 255, search: false },
    ),
    nameAttribute: text("Claim or attribute with the display name; default: `name`, for LDAP `cn`.", {
      max: 255,
      search: false,
    }),
    groupsAttribute: text(
      "OpenID Connect and SAML: claim or attribute with the groups; by default groups are not read.",
      {
        max: 255,
        search: false,
      },
    ),
    nameIdFormat: option(
      "SAML: format of the NameID that is requested; null requests none. New providers without `subjectAttribute` get persistent.",
      ["persistent", "email"],
    ),
    acceptSignedResponse: boolean("SAML: accepts an assertion without a signature in a signed response.", {
      default: false,
    }),
    idpInitiated: boolean(
      "SAML: accepts log-ins that start at the provider. They are restarted with a request of this appliance, so that no other site can log a browser in.",
      { default: false },
    ),
    requiredAcr: text(
      "OpenID Connect and SAML: accepted levels of authentication (`acr`, SAML: authentication context classes), separated by spaces; by default any.",
      LONG_TEXT,
    ),
    requiredAmr: text(
      "OpenID Connect: methods of authentication (`amr`) that must all have been used, separated by spaces, such as `pwd otp`.",
      { max: 255, search: false },
    ),
    maxLoginAgeInSecs: integer(
      "OpenID Connect and SAML: maximum age of the authentication at the provider; SAML providers are asked to authenticate each time. By default any.",
      { max: 2_592_000, unit: "s" },
    ),
    clockToleranceInSecs: integer("Allowed clock skew of the provider.", { max: 600, default: 60, unit: "s" }),
    redirectUri: computed("OpenID Connect and SAML: redirect URI to register at the provider.", "text", {
      nullable: true,
    }),
    backChannelLogoutUrl: computed("OpenID Connect: back-channel logout URI to register at the provider.", "text", {
      nullable: true,
    }),
    singleLogoutUrl: computed("SAML: single logout URL to register at the provider (redirect binding).", "text", {
      nullable: true,
    }),
    metadataUrl: computed("SAML: metadata URL of this appliance.", "text", { nullable: true }),
  },
});
