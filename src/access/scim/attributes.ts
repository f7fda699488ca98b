/** An attribute as schemas describe it. @source RFC 7643 §2.2, §7 */
export interface Attribute {
  name: string;
  type: "string" | "boolean" | "complex" | "reference" | "dateTime";
  description: string;
  multiValued?: boolean;
  required?: boolean;
  caseExact?: boolean;
  mutability?: "readOnly" | "readWrite" | "immutable";
  returned?: "always" | "default";
  uniqueness?: "none" | "server";
  referenceTypes?: readonly string[];
  subAttributes?: readonly Attribute[];
}

/** A schema: its attributes in the order in which they are shown. */
export interface Schema {
  id: string;
  name: string;
  description: string;
  attributes: readonly Attribute[];
}

/** URN of the core schema of users. */
export const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
/** URN of what organisations add to users. */
export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
/** URN of the core schema of groups. */
export const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";

const text = (name: string, description: string, more: Partial<Attribute> = {}): Attribute => ({
  name,
  type: "string",
  description,
  ...more,
});

const TYPE = text("type", "What it is used for, such as work.");
const PRIMARY: Attribute = { name: "primary", type: "boolean", description: "Whether it is the preferred one." };

function many(name: string, description: string, subAttributes: readonly Attribute[]): Attribute {
  return { name, type: "complex", description, multiValued: true, subAttributes };
}

function read(name: string, description: string): Attribute {
  return text(name, description, { mutability: "readOnly", caseExact: true });
}

const READ_REFERENCE: Attribute = {
  name: "$ref",
  type: "reference",
  description: "Address of the resource.",
  mutability: "readOnly",
  caseExact: true,
  referenceTypes: ["User", "Group"],
};

/** Of all resources, in no schema's list. @source RFC 7643 §3.1 */
export const COMMON: readonly Attribute[] = [
  read("id", "The id here."),
  text("externalId", "The directory's own id.", { caseExact: true }),
  {
    name: "meta",
    type: "complex",
    description: "What is known of the resource itself.",
    mutability: "readOnly",
    subAttributes: [
      read("resourceType", "Its type."),
      { name: "created", type: "dateTime", description: "When it was made.", mutability: "readOnly" },
      { name: "lastModified", type: "dateTime", description: "When it was last changed.", mutability: "readOnly" },
      read("location", "Its address."),
      read("version", "Its version."),
    ],
  },
];

/** What users have. own choice: passwords, pictures, certificates, roles and entitlements are not kept. @source RFC 7643 §4.1 */
export const USER_SCHEMA: Schema = {
  id: USER,
  name: "User",
  description: "A person that the directory provisions.",
  attributes: [
    text("userName", "What the directory's log-in calls the user.", { required: true, uniqueness: "server" }),
    {
      name: "name",
      type: "complex",
      description: "The parts of the name.",
      subAttributes: [
        text("formatted", "The whole name."),
        text("familyName", "Family name."),
        text("givenName", "Given name."),
        text("middleName", "Middle names."),
        text("honorificPrefix", "Title before the name."),
        text("honorificSuffix", "What follows the name."),
      ],
    },
    text("displayName", "What others call the user."),
    text("nickName", "What friends call the user."),
    { name: "profileUrl", type: "reference", description: "Page about the user.", referenceTypes: ["external"] },
    text("title", "What the user is in the organisation."),
    text("userType", "How the user belongs to the organisation."),
    text("preferredLanguage", "Language in which the user wants to be addressed."),
    text("locale", "Where the user is, for times and numbers."),
    text("timezone", "Time zone of the user."),
    { name: "active", type: "boolean", description: "False: the user is shut out, and all that was open ends." },
    many("emails", "E-mail addresses; the primary one, of work, or first one is the user's here.", [
      text("value", "The address."),
      text("display", "How it is shown."),
      TYPE,
      PRIMARY,
    ]),
    many("phoneNumbers", "Phone numbers.", [
      text("value", "The number."),
      text("display", "How it is shown."),
      TYPE,
      PRIMARY,
    ]),
    many("addresses", "Postal addresses.", [
      text("formatted", "The whole address."),
      text("streetAddress", "Street and number."),
      text("locality", "Town."),
      text("region", "Region."),
      text("postalCode", "Code of the town."),
      text("country", "Country."),
      TYPE,
      PRIMARY,
    ]),
    {
      ...many("groups", "Groups of the directory that the user is in.", [
        read("value", "Id of the group."),
        READ_REFERENCE,
        read("display", "Its name."),
        read("type", "How: direct."),
      ]),
      mutability: "readOnly",
    },
  ],
};

/** What organisations say of their people. @source RFC 7643 §4.3 */
export const ENTERPRISE_SCHEMA: Schema = {
  id: ENTERPRISE,
  name: "EnterpriseUser",
  description: "What an organisation says of its people.",
  attributes: [
    text("employeeNumber", "Number in the organisation."),
    text("costCenter", "Cost centre."),
    text("organization", "Organisation."),
    text("division", "Division."),
    text("department", "Department."),
    {
      name: "manager",
      type: "complex",
      description: "Whom the user reports to.",
      subAttributes: [
        text("value", "Id of that user."),
        text("$ref", "Its address."),
        text("displayName", "Its name."),
      ],
    },
  ],
};

/** What groups have. @source RFC 7643 §4.2 */
export const GROUP_SCHEMA: Schema = {
  id: GROUP,
  name: "Group",
  description: "A group of people in the directory, to which security groups and lists are tied here.",
  attributes: [
    text("displayName", "What the directory calls the group.", { required: true, uniqueness: "server" }),
    many("members", "Users in the group. own choice: no groups in groups.", [
      text("value", "Id of the user.", { mutability: "immutable", caseExact: true }),
      READ_REFERENCE,
      read("display", "Its name."),
      read("type", "User."),
    ]),
  ],
};

/** Attributes of the core that are understood and not kept. own choice: directories send them unasked. */
export const PASSED_OVER: ReadonlySet<string> = new Set(
  ["password", "ims", "photos", "entitlements", "roles", "x509Certificates", "schemas"].map((name) =>
    name.toLowerCase(),
  ),
);

/** The attribute of a name, whatever its case. @source RFC 7643 §2.1 */
export function attributeOf(attributes: readonly Attribute[], name: string): Attribute | null {
  const asked = name.toLowerCase();
  return attributes.find((attribute) => attribute.name.toLowerCase() === asked) ?? null;
}
