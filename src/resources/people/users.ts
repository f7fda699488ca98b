import {
  boolean,
  computed,
  integer,
  internal,
  object,
  option,
  ref,
  text,
  timestamp,
  uuid,
} from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const CREATED = { createdAt: timestamp("Creation time.", { required: true }) };
const NAMED = { id: uuid("Id.", { required: true }), name: text("Name.", { required: true }), ...CREATED };
const GROUP = { ...NAMED, superGroup: boolean("Members may do everything.", { required: true }) };
const SUBSCRIPTION = {
  id: uuid("Id.", { required: true }),
  userId: uuid("The user.", { required: true }),
  distributionListId: uuid("The list.", { required: true }),
  subscriptionEndDate: timestamp("When it ends."),
  ...CREATED,
  distributionList: computed("The list.", "object", { of: NAMED }),
};

/**
 * Accounts of people, applications and appliances.
 * @source docs/decisions/0003-authentication.md; docs/decisions/0005-users-and-devices.md;
 * docs/decisions/0042-api-contract.md, `/v1/users`
 */
export default defineResource({
  name: "users",
  doc: "A person, application or appliance that can log in or receive messages.",
  paths: [{ at: "users" }],
  idParam: "userId",
  scope: "domain",
  replicate: "A",
  indexes: [["loadSourceId", "loadKey"]],
  fields: {
    name: text("Display name.", { required: true, min: 1, max: 140 }),
    email: text(
      "Email address, used for login; unique; required for regular users, absent for anonymous users and applications.",
      {
        max: 254,
        format: "email",
        unique: true,
      },
    ),
    type: option(
      "Type of the account. Default: regular.",
      ["regular", "anonymous", "application", "endpoint", "support"],
      { default: "regular" },
    ),
    application: option("Program of an account of type application.", [
      "cloud-user-loader",
      "mobile-plugin",
      "desktop-registration",
      "user-loader",
      "custom",
    ]),
    endpointId: ref("Appliance of an account of type endpoint.", "endpoints", { onDelete: "cascade" }),
    zoneId: ref("Usual zone of the person; roll calls are grouped by it.", "zones", {
      embed: "zone",
    }),
    lock: object("Locks the account from `start` until `end`; null leaves that side open.", {
      start: timestamp("Start of the lock."),
      end: timestamp("End of the lock."),
    }),
    isLocked: computed("Whether the account is currently locked, derived from `lock`.", "boolean"),
    passwordResetRequired: boolean(
      "The user must set a new password at the next login (built-in identity provider only).",
      {
        default: false,
      },
    ),
    idleTimeout: integer("Idle time after which a session ends; null uses the setting of the appliance.", {
      min: 5,
      max: 720,
      unit: "min",
    }),
    selfRegistered: boolean("The account was created by self-enrolment in a list's campaign.", {
      readOnly: true,
      default: false,
    }),
    isLicensed: boolean("The account counts against the licence. True unless a licence limits it.", {
      readOnly: true,
      default: true,
    }),
    licenseState: computed(
      "Licence state, derived from `isLicensed` and `type`. All accounts except regular users are excluded.",
      "text",
      { of: option("Licence state.", ["licensed", "not-licensed", "excluded"]) },
    ),
    deviceState: computed(
      "enabled if the user has an enabled device, disabled if all devices are disabled, null without devices.",
      "text",
      { of: option("Device state.", ["enabled", "disabled"]), nullable: true },
    ),
    source: option(
      "Source of the account.",
      ["manual", "self-registered", "cloud-user-loader", "user-loader", "sis-loader", "scim"],
      { readOnly: true, default: "manual" },
    ),
    fromCloudUserLoader: computed("Whether the cloud user loader created the user, derived from `source`.", "boolean"),
    fromRegularUserLoader: computed(
      "Whether a loader of the appliance created the user, derived from `source`.",
      "boolean",
    ),
    preferredLanguage: option("Preferred language.", [
      ...["ar", "de-DE", "en-US", "es-US", "en-GB", "fr-CA", "fr-FR", "pt-BR"],
    ] as const),
    loadSourceId: ref("Load definition that created the user.", "load-definitions", {
      readOnly: true,
      embed: "loadSource",
    }),
    breakGlass: boolean(
      "Break-glass account: may log in with its password while the built-in identity provider is disabled; no other provider authenticates it. Only super users can make a member of a super group one.",
      { default: false },
    ),
    providerIdpId: computed("Identity provider of the user.", "text", { of: uuid("Id."), nullable: true }),
    providerIdp: computed("The identity provider; returned with includeIdp.", "object", {
      of: {
        id: uuid("Id.", { required: true }),
        name: text("Name.", { required: true }),
        type: option("Type; built-in: passwords are stored by Carillon.", ["oidc", "ldap", "saml", "built-in"]),
        isDefault: boolean("Used for users without a known provider."),
        enabled: boolean("Whether users may log in with it."),
        selfRegistrationEnabled: boolean("Whether it creates users at their first login."),
      },
      nullable: true,
      when: "includeIdp",
    }),
    domains: computed("Domains of the user that are visible to the caller; returned with includeDomains.", "array", {
      of: {
        id: uuid("Id.", { required: true }),
        name: text("Name.", { required: true }),
        namePath: text("Names from the root to it."),
      },
      when: "includeDomains",
    }),
    securityGroups: computed("Security groups the user is a member of, by name.", "array", { of: GROUP }),
    subscriptions: computed("The user's subscriptions that have not ended, oldest first.", "array", {
      of: SUBSCRIPTION,
    }),
    preferredName: internal("Preferred name, from the user's profile.", "text"),
    preferredTimezone: internal("Preferred time zone, from the user's profile.", "text"),
    loadKey: internal("Key of the user in the source of its load definition.", "text"),
    scimUserName: internal("For a provisioned user: userName in the directory, in lower case.", "text", {
      unique: true,
    }),
    scimExternalId: internal("For a provisioned user: external id in the directory.", "text", { index: true }),
    scimActive: internal("For a provisioned user: 1, or 0 while deactivated in the directory.", "integer"),
    scimProfile: internal("For a provisioned user: SCIM attributes of the directory, as JSON.", "text"),
    providerKey: internal(
      "Identity provider id, a space, and the subject at that provider; null for the built-in provider.",
      "text",
      { index: true },
    ),
    passwordHash: internal("argon2id hash of the password, null while none is set.", "text"),
    passwordChangedAt: internal("Epoch ms of the last change of the password.", "integer"),
  },
});
