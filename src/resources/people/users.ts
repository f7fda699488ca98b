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

const MADE = { createdAt: timestamp("When it was made.", { required: true }) };
const NAMED = { id: uuid("Its id.", { required: true }), name: text("Its name.", { required: true }), ...MADE };
const GROUP = { ...NAMED, superGroup: boolean("Its members may do everything.", { required: true }) };
const SUBSCRIPTION = {
  id: uuid("Its id.", { required: true }),
  userId: uuid("The user.", { required: true }),
  distributionListId: uuid("The list.", { required: true }),
  subscriptionEndDate: timestamp("When it ends."),
  ...MADE,
  distributionList: computed("The list.", "object", { of: NAMED }),
};

/** Whoever holds an account. @source service-api.md, User; decisions.md 3 and 5; digest `/v1/users` */
export default defineResource({
  name: "users",
  doc: "A person, an application or an appliance that may log in or be reached.",
  paths: [{ at: "users" }],
  idParam: "userId",
  scope: "domain",
  replicate: "A",
  fields: {
    name: text("What others call the user.", { required: true, min: 1, max: 140 }),
    email: text(
      "Address for log-in and mail; absent for anonymous users and applications. own choice: no two users share one.",
      { max: 254, format: "email", unique: true },
    ),
    type: option(
      "What stands behind the account. own choice: regular when not given.",
      ["regular", "anonymous", "application", "endpoint", "support"],
      { default: "regular" },
    ),
    application: option("Which program an account of type application belongs to.", [
      "cloud-user-loader",
      "mobile-plugin",
      "desktop-registration",
      "user-loader",
      "custom",
    ]),
    endpointId: ref("Appliance that an account of type endpoint belongs to.", "endpoints", { onDelete: "cascade" }),
    zoneId: ref("own choice: room where the person usually is, by which roll calls are ordered.", "zones", {
      embed: "zone",
    }),
    lock: object("When set, the account is refused from `start` until `end`; a null end of either side is open.", {
      start: timestamp("First moment at which the account is locked."),
      end: timestamp("Moment at which the lock ends."),
    }),
    isLocked: computed("Whether the account is locked at this moment, derived from `lock`.", "boolean"),
    passwordResetRequired: boolean(
      "The user of the built-in identity provider must set a new password at the next log-in.",
      {
        default: false,
      },
    ),
    idleTimeout: integer("Minutes without a request after which a session ends; null takes the appliance's setting.", {
      min: 5,
      max: 720,
      unit: "min",
    }),
    selfRegistered: boolean("The account was made by its owner, by joining a list's campaign.", {
      readOnly: true,
      default: false,
    }),
    isLicensed: boolean("The account counts against the licence. own choice: true while no licence says otherwise.", {
      readOnly: true,
      default: true,
    }),
    licenseState: computed(
      "How the licence takes the account, derived from `isLicensed` and `type`. own choice: excluded are those that no licence counts, which all but regular users are.",
      "text",
      { of: option("One of them.", ["licensed", "not-licensed", "excluded"]) },
    ),
    deviceState: computed(
      "own choice: enabled while a device of the user's is switched on, disabled when all are off; null without any.",
      "text",
      { of: option("One of them.", ["enabled", "disabled"]), nullable: true },
    ),
    source: option(
      "Where the account came from.",
      ["manual", "self-registered", "cloud-user-loader", "user-loader", "sis-loader", "scim"],
      { readOnly: true, default: "manual" },
    ),
    fromCloudUserLoader: computed("Whether the cloud's loader made the user, derived from `source`.", "boolean"),
    fromRegularUserLoader: computed(
      "Whether a loader of the appliance made the user, derived from `source`.",
      "boolean",
    ),
    preferredLanguage: option("Language in which the user wants to be addressed.", [
      ...["ar", "de-DE", "en-US", "es-US", "en-GB", "fr-CA", "fr-FR", "pt-BR"],
    ] as const),
    loadSourceId: ref("Load definition that made the user.", "load-definitions", {
      readOnly: true,
      embed: "loadSource",
    }),
    breakGlass: boolean(
      "own choice: the account may log in with its password even while the built-in identity provider is not enabled; no other one vouches for it.",
      { default: false },
    ),
    providerIdpId: computed("Who vouches for the user at log-in.", "text", { of: uuid("Its id."), nullable: true }),
    providerIdp: computed("That one; returned with includeIdp.", "object", {
      of: {
        id: uuid("Its id.", { required: true }),
        name: text("Its name.", { required: true }),
        type: option("built-in: passwords are kept here.", ["oidc", "ldap", "saml", "built-in"]),
        isDefault: boolean("Asked for users of whom nobody knows whose they are."),
        enabled: boolean("Whether users may log in by it."),
        selfRegistrationEnabled: boolean("Whether it makes users of people who come by themselves."),
      },
      nullable: true,
      when: "includeIdp",
    }),
    domains: computed(
      "Domains that the user is in, as far as the asker knows them; returned with includeDomains.",
      "array",
      {
        of: {
          id: uuid("Its id.", { required: true }),
          name: text("Its name.", { required: true }),
          namePath: text("Names from the root to it."),
        },
        when: "includeDomains",
      },
    ),
    securityGroups: computed("Security groups the user is a member of, by name.", "array", { of: GROUP }),
    subscriptions: computed("The user's subscriptions that have not ended, oldest first.", "array", {
      of: SUBSCRIPTION,
    }),
    preferredName: internal("What the user wants to be called, by the own profile.", "text"),
    preferredTimezone: internal("Zone in which the user wants times to be shown, by the own profile.", "text"),
    loadKey: internal("What tells the user apart in the source of its load definition.", "text", { index: true }),
    scimUserName: internal("Of a user that a directory provisions: its userName there, in lower case.", "text", {
      unique: true,
    }),
    scimExternalId: internal("The directory's own id of such a user.", "text", { index: true }),
    scimActive: internal("Of such a user: 1, or 0 while the directory has it switched off.", "integer"),
    scimProfile: internal("What the directory says of such a user, as JSON by its schema.", "text"),
    providerKey: internal(
      "Id of the identity provider that vouches for the user, a space, and what that calls the user; null for the built-in one.",
      "text",
      { index: true },
    ),
    passwordHash: internal("argon2id hash of the password, null while none is set.", "text"),
    passwordChangedAt: internal("Epoch ms of the last change of the password.", "integer"),
  },
});
